import { NotAConversationError } from '../base/errors/flow-errors.ts'
import { checkSignal, readOptions } from '../base/errors/read-options.ts'
import { AgentMissingError, TurnNotFoundError } from '../base/errors/runtime-errors.ts'
import { ConversationNotFoundError, ConversationUnreadableError } from '../base/errors/store-errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import type { Agent } from '../define/agent.ts'
import { flowOfAgent } from '../define/define-flow.ts'
import { toolNamed } from '../define/tool-source.ts'
import { refuseChild } from '../engine/child/child-calls.ts'
import { type LeaseRequest, noLease } from '../engine/lease-request.ts'
import { follow } from '../engine/live/child-tree.ts'
import { isToldBy, outcomeOf, type TurnOutcome } from '../engine/live/turn-outcome.ts'
import type { Identity } from '../engine/scopes.ts'
import { decode, encode } from '../log/codec.ts'
import { type ConversationState, findTurn, openTurn } from '../log/state.ts'
import { checkId, checkTitle } from '../store/checks.ts'
import type { ConversationRecord } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'
import type { Children } from '../view/view.ts'
import { childOfCall, readCallRef } from './answer-call.ts'
import { answerVerbs } from './answer-verbs.ts'
import { cancelQuarantined } from './cancel-quarantined.ts'
import type { Conversation, TurnHandle } from './conversation.ts'
import { readConversationState, setConversationState } from './conversation-state.ts'
import { deleteConversation } from './delete-conversation.ts'
import { extendDeadline, readDeadline } from './extend-deadline.ts'
import type { Permit } from './permit.ts'
import { explainLog, readEvictions } from './read/explain-log.ts'
import { history } from './read/history.ts'
import { lineageOf, listedForks, readForkOptions } from './read/lists.ts'
import { readEvents } from './read/read-record.ts'
import { readView } from './read/read-view.ts'
import { turnFromLog } from './read/turn-events.ts'
import { textStream, watch } from './read/watch.ts'
import { restoreConversation } from './restore-conversation.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { sendVerbs } from './send-verbs.ts'

type Waiting = { readonly signal?: AbortSignal | undefined; readonly writtenSeq?: number | null }

/** The verbs of one conversation for one identity. */
export function conversationHandle(
  runtime: RuntimeContext,
  identity: Identity,
  id: string,
  agentName: string | null,
  { isNew = false, mayRestore = null, mayApprove = null }: Permit = {},
): Conversation {
  const { node, worker, closed } = runtime
  const { channels, workingSets, agents, addressable, keepAlive } = node
  const { tenant, who } = identity
  const ref = { tenant, id }
  const store: TenantStore = node.store.forTenant(tenant)
  const state = async (): Promise<ConversationState> => (await workingSets.load(store, tenant, id)).state
  const watched = { tenant, id, store, channels, keepAlive, closed }
  const family = { tenant, store, workingSets }

  async function agent(): Promise<Agent> {
    const name = agentName ?? (await recordOf())?.agent ?? null
    const found = name === null ? undefined : addressable.get(name)
    if (!found) throw missing(name, id)
    return found
  }

  /** What is read of the log, unless the id is that of a session. Both are read at once. */
  async function ofConversation<T>(read: () => Promise<T>): Promise<T> {
    const [record, found] = await Promise.allSettled([recordOf(), read()])
    for (const { status, reason } of [record, found] as PromiseRejectedResult[]) if (status === 'rejected') throw reason
    return (found as PromiseFulfilledResult<T>).value
  }

  /** Null when there is none. Throws where the id is that of a session. */
  async function recordOf(): Promise<ConversationRecord | null> {
    const record = await store.getConversation(id)
    if (record?.kind === 'flow') throw new NotAConversationError(id, flowOfAgent(record.agent))
    return record
  }

  const missing = (name: string | null, forId: string) => new AgentMissingError(name, forId, [...addressable.keys()])

  /** Refuses a conversation of an agent that only tools start. One whose agent this node lacks waits for a node that has it. */
  async function refuseToolsAgent(forId: string): Promise<void> {
    const name = agents.size > addressable.size ? await ownAgent() : null
    if (name !== null && agents.has(name) && !addressable.has(name)) throw missing(name, forId)
  }

  /** The name of the conversation's own agent; null where neither the store nor the caller names one. */
  async function ownAgent(): Promise<string | null> {
    return (await recordOf())?.agent ?? agentName
  }

  async function named(): Promise<Pick<Agent, 'name'>> {
    await refuseToolsAgent(id)
    const name = await ownAgent()
    if (name === null) throw new ConversationNotFoundError(id)
    return { name }
  }

  async function waitFor<T>(
    until: (state: ConversationState, children: Children) => T | null,
    { signal: given, writtenSeq = null }: Waiting,
  ): Promise<T> {
    const letProcessEnd = keepAlive.hold()
    const signal = given ? AbortSignal.any([closed, given]) : closed
    try {
      return await follow({ tenant, id, channels, until, signal, writtenSeq })
    } finally {
      letProcessEnd()
    }
  }

  /** The outcome of a turn, as soon as `ready` gives one; of a turn that is no longer in memory, what the log says. */
  async function whenTurn(
    turnId: string,
    ready: (state: ConversationState, children: Children) => TurnOutcome | null,
    waiting: Waiting = {},
  ): Promise<TurnOutcome> {
    const found = await waitFor(
      (folded, children) => (isToldBy(folded, turnId) ? ready(folded, children) : ('put_away' as const)),
      waiting,
    )
    if (found !== 'put_away') return found
    const outcome = outcomeOf(id, await turnFromLog(store, id, turnId), turnId)
    return outcome ?? { status: 'detached', turnId, reason: new TurnNotFoundError(id, turnId).message }
  }

  async function outcome(turnIdOf: () => Promise<string | null>, waiting: Waiting = {}): Promise<TurnOutcome> {
    let turnId: string | null = null
    try {
      turnId = await turnIdOf()
      if (turnId === null) throw new ConversationNotFoundError(id)
      const wanted = turnId
      return await whenTurn(wanted, (folded, children) => outcomeOf(id, folded, wanted, children), waiting)
    } catch (error) {
      return {
        status: 'detached',
        turnId: turnId ?? '',
        reason: error instanceof Error ? error.message : String(error),
      }
    }
  }

  function turnHandle(turnId: string, waiting: Waiting = {}): TurnHandle {
    return {
      turnId,
      outcome: () => outcome(async () => turnId, waiting) as ReturnType<TurnHandle['outcome']>,
      get textStream() {
        return textStream(watched, turnId)
      },
    }
  }

  /** For a commit that gives the conversation's own agent something to do. */
  async function requestLease(): Promise<LeaseRequest> {
    return worker?.requestLease(ref, await ownAgent()) ?? noLease(ref)
  }

  /** The agent of the conversation says what its state is, also one that only tools start. */
  const stateOwner = async () => {
    const name = await ownAgent()
    const own = name === null ? undefined : agents.get(name)
    if (!own) throw (await state()).lastSeq === 0 ? new ConversationNotFoundError(id) : missing(name, id)
    return { id, agent: own, store, state }
  }

  const toolOf = async (name: string) => toolNamed(agents.get((await ownAgent()) ?? ''), name)

  const { approve, deny, answer } = answerVerbs(runtime, {
    id,
    identity,
    store,
    state,
    requestLease,
    toolOf,
    mayApprove,
    childHandle: (childId) => conversationHandle(runtime, identity, childId, null, { mayApprove }),
  })

  const { send, retry } = sendVerbs(runtime, {
    id,
    identity,
    store,
    state,
    agent,
    named,
    isNew,
    mayRestore,
    turnHandle: (turnId, writtenSeq) => turnHandle(turnId, { writtenSeq }),
  })

  // Without a spread: each message of a user makes a handle.
  return {
    id,
    send,
    retry,

    outcome: () => outcome(async () => (await state()).turns.at(-1)?.turnId ?? null) as never,

    turn(turnId) {
      checkId('turn id', turnId)
      return turnHandle(turnId)
    },

    async cancel(options) {
      runtime.assertOpen()
      const { turnId, signal } = readOptions('options', options, ['turnId', 'signal'])
      if (turnId !== undefined) checkId('turn id', turnId)
      if (signal !== undefined) checkSignal('signal', signal)
      const folded = await state()
      const turn = turnId === undefined ? openTurn(folded) : findTurn(folded, turnId)
      if (!turn || turn.end) return null
      failpoint('cancel.before_commit')
      const request = await requestLease()
      await request.during(() =>
        store.commit(id, { events: [{ type: 'cancel_requested', content: { turnId: turn.turnId, who } }] }),
      )
      // Durable from here: the owner of the conversation ends the turn.
      worker?.start(request, null)
      failpoint('cancel.after_commit')
      await cancelQuarantined(runtime, ref)
      const ended = (now: ConversationState) =>
        findTurn(now, turn.turnId)?.end ? outcomeOf(id, now, turn.turnId) : null
      return (await whenTurn(turn.turnId, ended, { signal })) as never
    },

    async rename(title) {
      runtime.assertOpen()
      checkTitle(title)
      const record = await store.getConversation(id)
      if (!record) throw new ConversationNotFoundError(id)
      if (record.title === title) return
      failpoint('rename.before_commit')
      await store.commit(id, { events: [{ type: 'titled', content: { title } }] })
      // Durable from here: the log and the row have the title.
      failpoint('rename.after_commit')
    },

    approve,
    deny,
    answer,
    async extendDeadline(call, options) {
      runtime.assertOpen()
      const callRef = readCallRef(call)
      const expiresInMs = readDeadline(options)
      const childId = (await childOfCall(store, id, callRef)) ?? id
      const childState = async () => (await workingSets.load(store, tenant, childId)).state
      return extendDeadline(callRef, expiresInMs, { id: childId, who, store, state: childState })
    },

    async note(name, data) {
      runtime.assertOpen()
      checkId('note name', name)
      const content = { name, data: decode(encode(data, 'data')), who }
      failpoint('note.before_commit')
      const result = await store.commit(id, { events: [{ type: 'note', content }], resendKey: `note/${uuidV7()}` })
      // Durable from here: the note is in the log.
      failpoint('note.after_commit')
      return { seq: result.ok ? result.seq : result.lastSeq }
    },

    async state() {
      return (await readConversationState(await stateOwner())) as never
    },
    async setState(update, options) {
      runtime.assertOpen()
      const where = { ...(await stateOwner()), who }
      return (await runtime.stateChanges.inTurn(ref, () => setConversationState(where, update, options))) as never
    },

    async view(options) {
      const view = await readView({ ...family, channels }, id, options)
      // As it was earlier, it is not known who had paused it.
      const isNow = options?.at === undefined
      const agentOf = async () => (await store.standing(id))?.agent ?? null
      const pause = isNow ? await node.pauses.ofConversation(ref, agentOf) : null
      return pause ? { ...view, paused: { at: pause.at } } : view
    },
    history: (page) => ofConversation(() => history(store, id, page)),
    events: (range) => ofConversation(() => readEvents(store, id, range)),
    modelCalls: (range) => ofConversation(() => store.modelCalls(id, range)),
    explain: (modelCall) => ofConversation(async () => explainLog(store, id, { evictions: readEvictions(modelCall) })),
    watch: (options) => watch(watched, options),

    async fork(given) {
      runtime.assertOpen()
      const { at, id: newId = uuidV7(), name } = readForkOptions(given)
      await recordOf()
      await refuseChild(store, newId)
      if (name === undefined) await refuseToolsAgent(newId)
      else if (!addressable.has(name)) throw missing(name, newId)
      const owner = { owner: who }
      const options = { ...owner, ...(at === undefined ? {} : { at }), ...(name === undefined ? {} : { agent: name }) }
      await store.fork(id, newId, options)
      return conversationHandle(runtime, identity, newId, name ?? agentName) as never
    },
    forks: (page) => ofConversation(() => listedForks(store, id, page)),
    lineage: (options) => ofConversation(() => lineageOf(store, id, options)),

    async continue() {
      runtime.assertOpen()
      await refuseChild(store, id)
      await recordOf()
      await refuseToolsAgent(id)
      if (node.snapshots && !(await store.standing(id))?.lastSeq) {
        await restoreConversation(node, { id, agentId: (await agent()).name, identity, store, mayRestore }, 'continue')
      }
      const request = await requestLease()
      await request.during(() => store.commit(id, { events: [], wakeAt: 'now' }))
      // Durable from here: the conversation is due.
      worker?.start(request, null)
    },

    async detach() {
      await worker?.release(tenant, id)
      workingSets.drop(tenant, id)
    },

    async delete() {
      // A row that is damaged can be deleted too.
      await recordOf().catch((error: unknown) => {
        if (!(error instanceof ConversationUnreadableError)) throw error
      })
      return deleteConversation(runtime, identity, id, agentName, mayRestore)
    },
  }
}
