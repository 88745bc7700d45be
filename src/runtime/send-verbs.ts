import { createHash } from 'node:crypto'
import { readOptions } from '../base/errors/read-options.ts'
import { failpoint } from '../base/failpoint.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import type { Agent } from '../define/agent.ts'
import { refuseChild } from '../engine/child/child-calls.ts'
import { noLease } from '../engine/lease-request.ts'
import { traceOf } from '../engine/observer.ts'
import type { Identity } from '../engine/scopes.ts'
import type { RetryOptions } from '../engine/turn-options.ts'
import type { NewEvent } from '../log/events.ts'
import type { ConversationState, TurnState } from '../log/state.ts'
import { markOwnerChange } from '../store/change.ts'
import { checkId } from '../store/checks.ts'
import type { TenantStore } from '../store/store.ts'
import type { WorkingSet } from '../store/working-sets.ts'
import { cancelQuarantined } from './cancel-quarantined.ts'
import type { Conversation, TurnHandle } from './conversation.ts'
import type { MayRestore } from './permit.ts'
import { findReplaced, supersededBy } from './replace-turn.ts'
import { restoreConversation } from './restore-conversation.ts'
import type { RuntimeContext } from './runtime-context.ts'
import {
  checkForce,
  type Retrying,
  type Sending,
  type Sent,
  sendMessage,
  sentBefore,
  sentMeanwhile,
  standingToReplace,
  tellTurnOfKey,
  turnIdOf,
} from './send-message.ts'

type Parts = {
  readonly id: string
  readonly identity: Identity
  readonly store: TenantStore
  readonly state: () => Promise<ConversationState>
  /** See `Sending`. */
  readonly isNew: boolean
  readonly mayRestore: MayRestore | null
  /** The agent that the message is for. */
  readonly agent: () => Promise<Agent>
  /** The agent of the conversation, which this node need not have. */
  readonly named: () => Promise<Pick<Agent, 'name'>>
  readonly turnHandle: (turnId: string, writtenSeq: number) => TurnHandle
}

/** The verbs that give a conversation a turn. */
export function sendVerbs(runtime: RuntimeContext, parts: Parts): Pick<Conversation, 'send' | 'retry'> {
  const { id, identity, store, state, isNew, mayRestore, turnHandle } = parts
  const { node, worker } = runtime
  const { workingSets, scopes } = node
  const { tenant, scope } = identity
  const ref = { tenant, id }

  async function startTurn<A extends Pick<Agent, 'name'>>(
    agentOf: () => Promise<A>,
    commit: (sending: Omit<Sending, 'agent'> & { readonly agent: A }) => Promise<Sent>,
  ): Promise<TurnHandle> {
    runtime.assertOpen()
    scopes.checkRestorable(scope)
    if (runtime.subscribed !== null) await runtime.subscribed
    await refuseChild(store, id)
    const agent = await agentOf()
    const place = { id, agentId: agent.name, identity, store, mayRestore }
    const restore = async () => (node.snapshots === null ? 'nothing' : restoreConversation(node, place, 'send'))
    const known = () => workingSets.peek(tenant, id)
    const onKnown = (workingSet: WorkingSet) => workingSets.keep(tenant, id, workingSet)
    const leaseRequest = worker?.requestLease(ref, agent.name) ?? noLease(ref)
    const trace = (given: string | undefined) =>
      given === undefined && !node.observer ? {} : traceOf(node, given, { kind: 'agent', name: agent.name })
    const isPaused = () => node.pauses.isPaused({ ...ref, agent: agent.name })
    const sending = { id, agent, identity, store, state, known, onKnown, restore, leaseRequest, trace, isNew, isPaused }
    const { turnId, seq, interrupts, lease } = await leaseRequest.during(() => commit(sending))
    // Durable from here: this process works on the turn under the lease that came with the commit, or else claims it.
    worker?.start(leaseRequest, lease)
    if (interrupts) await cancelQuarantined(runtime, ref)
    return turnHandle(turnId, seq)
  }

  return {
    send: async (message, options) =>
      (await startTurn(parts.agent, (sending) => sendMessage(message, options, sending))) as never,
    retry: async (turnId, options) =>
      (await startTurn(parts.named, (sending) => retryTurn(turnId, options, sending))) as never,
  }
}

/** Sends the messages of a turn again, in its place, for the caller. Default: the newest turn. Durable when it resolves. */
async function retryTurn(
  turnId: string | undefined,
  given: RetryOptions | undefined,
  sending: Retrying,
): Promise<Sent> {
  const { key, force, traceparent } = readOptions('options', given, ['key', 'force', 'traceparent'])
  if (turnId !== undefined) checkId('turn id', turnId)
  if (key !== undefined) checkId('key', key)
  checkForce(force)
  const { id, identity, store } = sending
  const trace = sending.trace(traceparent)
  const newTurnId = key === undefined ? uuidV7() : turnIdOf(key)
  const request = key === undefined ? { resendKey: `send/${newTurnId}` } : { key, digest: digestOf(turnId ?? null) }
  // The turn of a request that was made before has been replaced already.
  const known =
    key === undefined || sending.isNew
      ? null
      : await sentBefore(sending, request).catch((error) => tellTurnOfKey(error, key, sending))
  if (known) return { ...known, interrupts: false }
  for (;;) {
    await standingToReplace(sending)
    const replacing = { turnId: turnId ?? null, force: force ?? false }
    const found = await findReplaced(sending, replacing).catch((error) => sentMeanwhile(error, sending, request))
    if ('seq' in found) return { ...found, interrupts: false }
    const { turn, lastSeq } = found
    failpoint('retry.before_commit')
    const events = [supersededBy(turn, newTurnId), ...messagesOf(turn, newTurnId, identity.who, key, trace)]
    const result = await store.commit(
      id,
      markOwnerChange({ events, ...request, expectedSeq: lastSeq, ...sending.leaseRequest.acquire() }),
    )
    // Durable from here: the messages survive a crash, and a node that has the agent's code continues with them.
    failpoint('retry.after_commit')
    if (result.ok) {
      const lease = sending.leaseRequest.granted(result)
      return { seq: result.seq, turnId: newTurnId, interrupts: false, lease }
    }
  }
}

/** What the turn was asked, as it was: options are those of its first message, which has the key. */
function messagesOf(
  turn: TurnState,
  turnId: string,
  who: string,
  key: string | undefined,
  trace: { readonly traceparent?: string },
): NewEvent[] {
  const said = turn.items.filter((item) => item.type === 'user')
  return said.map(({ message, data }, index): NewEvent => {
    const added = { ...(data === undefined ? {} : { data }), ...(key === undefined || index > 0 ? {} : { key }) }
    return { type: 'user_msg', content: { turnId, message, options: turn.options, who, ...added, ...trace } }
  })
}

function digestOf(turnId: string | null): string {
  return createHash('sha256')
    .update(JSON.stringify({ retry: turnId }))
    .digest('hex')
}
