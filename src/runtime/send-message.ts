import { createHash } from 'node:crypto'
import { NotAConversationError } from '../base/errors/flow-errors.ts'
import { readArgument, readOptions } from '../base/errors/read-options.ts'
import { AgentMismatchError, BusyError } from '../base/errors/runtime-errors.ts'
import { ConversationNotFoundError } from '../base/errors/store-errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import type { Agent } from '../define/agent.ts'
import { flowOfAgent } from '../define/define-flow.ts'
import { toJsonSchema } from '../define/schema.ts'
import type { GrantedLease, LeaseRequest } from '../engine/lease-request.ts'
import type { Identity } from '../engine/scopes.ts'
import { type MessageInput, readMessage, type SendOptions, turnOptions, type WhenBusy } from '../engine/turn-options.ts'
import { encode } from '../log/codec.ts'
import type { NewEvent, UserMessage } from '../log/events.ts'
import type { FsmState } from '../log/fsm-state.ts'
import { type ConversationState, emptyState, openTurn } from '../log/state.ts'
import { markOwnerChange, placedEvents } from '../store/change.ts'
import { checkId, checkOneOf } from '../store/checks.ts'
import type { ConversationAttrs } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'
import { type WorkingSet, withEvents } from '../store/working-sets.ts'

export type Sending = {
  readonly id: string
  readonly agent: Agent
  readonly identity: Identity
  readonly store: TenantStore
  /** The folded log, up to date. Only called when the decision depends on it. */
  readonly state: () => Promise<ConversationState>
  /** The folded log as this process saw it last; null when it has not. */
  readonly known: () => WorkingSet | null
  /** The log as the message left it, where that could be told without reading. */
  readonly onKnown: (workingSet: WorkingSet) => void
  readonly onTurn: (turnId: string) => void
  /** Begins an empty log with what a snapshot says. False: there is none. */
  readonly restore: () => Promise<boolean>
  readonly leaseRequest: LeaseRequest
}

const noSeq = Number.MAX_SAFE_INTEGER
const optionNames = ['key', 'whenBusy', 'output', 'untilTool', 'maxSteps', 'maxTokens'] as const

type Sent = {
  /** The turn it belongs to. */
  readonly turnId: string
  readonly seq: number
  /** It asks the turn that was open, if any, to cancel. */
  readonly interrupts: boolean
  /** The lease that came with the commit; null where none did. */
  readonly lease: GrantedLease | null
}

/** Appends a message. Durable when it resolves. */
export async function sendMessage(
  input: MessageInput,
  given: SendOptions | undefined,
  sending: Sending,
): Promise<Sent> {
  const { id, agent, identity, store } = sending
  const options = readOptions('options', given, optionNames)
  const { key, whenBusy = 'reject' } = options
  if (key !== undefined) checkId('key', key)
  checkOneOf('whenBusy', whenBusy, ['reject', 'queue', 'interrupt', 'steer'])
  const interrupts = whenBusy === 'interrupt'
  const { message, files } = readMessage(input)
  const content = {
    message,
    options: readArgument('output', () => turnOptions(agent, options)),
    who: identity.who,
    ...(key === undefined ? {} : { key }),
  }
  const newTurnId = key === undefined ? uuidV7() : turnIdOf(key)
  const request =
    key === undefined
      ? { resendKey: `send/${newTurnId}` }
      : { key, digest: readArgument('output', () => digestOf(message, options)) }
  // A file that no message refers to would stay for ever, so files are stored once the message is known to be new.
  if (files.length > 0 && key !== undefined) {
    const known = await store.commit(id, { events: [], ...request, expectedSeq: noSeq })
    if (known.ok) return { seq: known.seq, turnId: await turnAt(store, id, known.seq), interrupts, lease: null }
  }
  let areFilesStored = false
  const restore = once(sending.restore)
  for (let attempt = 1; ; attempt++) {
    const quick = attempt === 1 ? planOnKnown(whenBusy, newTurnId, sending) : null
    const planned = quick ?? (await plan(options.whenBusy, newTurnId, { ...sending, restore }))
    const { turnId, events, expectedSeq, attrs, known, cached } = planned
    sending.onTurn(turnId)
    if (!areFilesStored && expectedSeq !== noSeq) {
      await Promise.all(files.map(({ bytes, mediaType }) => store.putBlob(bytes, mediaType)))
      areFilesStored = true
    }
    failpoint('send.before_commit')
    const appended: NewEvent[] = [...events, { type: 'user_msg', content: { turnId, ...content } }]
    const change = markOwnerChange({
      events: appended,
      ...request,
      ...(expectedSeq === null ? {} : { expectedSeq }),
      ...(known?.state.lastSeq ? { expectedAt: known.lastAt, expectedAgent: agent.name } : {}),
      ...(attrs ? { conversation: attrs } : {}),
      ...(cached ? { fsmState: cached } : {}),
      ...sending.leaseRequest.acquire(),
    })
    const result = await store.commit(id, change)
    // Durable from here: a crash finds the message, and a node that has the agent's code goes on with it.
    failpoint('send.after_commit')
    if (!result.ok) {
      if (expectedSeq === noSeq) await refuseWhenBusy(sending)
      continue
    }
    const placed = known && placedEvents(id, appended, known.state.lastSeq, result)
    const workingSet = known && placed && withEvents(known, placed)
    if (workingSet) sending.onKnown(workingSet)
    // The worker needs the whole log.
    const isWhole = workingSet && !workingSet.state.isTrimmed
    const lease = sending.leaseRequest.granted(result, isWhole && cached ? { workingSet, cached } : null)
    const { seq } = result
    // With a key, the message may have been sent before, into another turn.
    return { seq, turnId: key === undefined ? turnId : await turnAt(store, id, seq), interrupts, lease }
  }
}

type Plan = {
  readonly turnId: string
  readonly events: readonly NewEvent[]
  /** Null: the commit is made on whatever the log is by then. */
  readonly expectedSeq: number | null
  readonly attrs: ConversationAttrs | null
  /** What it was decided on, where nothing was read: the commit makes sure that it is still so. */
  readonly known?: WorkingSet
  /** The cached state after the commit. */
  readonly cached?: FsmState
}

/** Most messages go to a conversation that rests as this process left it. Null when the store has to be asked. */
function planOnKnown(whenBusy: WhenBusy, turnId: string, { agent, known: find }: Sending): Plan | null {
  const known = find()
  if (known?.agent !== agent.name || known.lastAt === 0 || whenBusy === 'queue' || openTurn(known.state)) return null
  return { turnId, events: [], attrs: null, ...knownPlan(known) }
}

/** The commit is refused unless the log still ends where `known` does. So once it is made, the log is what is known and what it appended. */
function knownPlan(known: WorkingSet): Pick<Plan, 'expectedSeq' | 'known' | 'cached'> {
  const { lastSeq } = known.state
  const cached: FsmState = { state: 'running', pending: [], lastSeq: lastSeq + 1 }
  return { expectedSeq: lastSeq, known, cached }
}

async function plan(
  given: WhenBusy | undefined,
  newTurnId: string,
  { id, agent, identity, store, state, restore }: Sending,
): Promise<Plan> {
  let standing = await store.standing(id)
  if (!standing?.lastSeq && (await restore())) standing = await store.standing(id)
  if (standing?.agent && standing.agent !== agent.name) {
    const isSession = (await store.getConversation(id))?.kind === 'flow'
    if (isSession) throw new NotAConversationError(id, flowOfAgent(standing.agent))
    throw new AgentMismatchError(id, standing.agent, agent.name)
  }
  // A turn that no process works on until a person releases it is not one to wait for: the message queues.
  const whenBusy = given ?? (standing?.isQuarantined ? 'queue' : 'reject')
  const attrs = standing?.agent ? null : { agent: agent.name }
  const fresh = { turnId: newTurnId, events: [], attrs }
  if (!standing) return { ...fresh, ...knownPlan(emptyLog()) }
  if (whenBusy === 'queue') return { ...fresh, expectedSeq: null }
  if (standing.isIdle) return { ...fresh, expectedSeq: standing.lastSeq }
  const folded = await state()
  const open = openTurn(folded)
  if (!open) return { ...fresh, expectedSeq: folded.lastSeq }
  if (whenBusy === 'reject') return { ...fresh, expectedSeq: noSeq }
  if (whenBusy === 'steer') {
    // A turn that is being cancelled is not steered: the message queues.
    return open.cancel
      ? { ...fresh, expectedSeq: folded.lastSeq }
      : { ...fresh, turnId: open.turnId, expectedSeq: folded.lastSeq }
  }
  const cancel: NewEvent = { type: 'cancel_requested', content: { turnId: open.turnId, who: identity.who } }
  return { ...fresh, events: open.cancel ? [] : [cancel], expectedSeq: folded.lastSeq }
}

function emptyLog(): WorkingSet {
  return { state: emptyState, lastAt: 0, origin: { summary: null } }
}

/** A known key is answered before anything else, so a busy conversation was asked with an impossible seq, to find out. */
async function refuseWhenBusy({ id, state }: Sending): Promise<void> {
  const open = openTurn(await state())
  if (open) throw new BusyError(id, open.turnId)
}

async function turnAt(store: TenantStore, id: string, seq: number): Promise<string> {
  const [event] = await store.streamEvents(id, { after: seq - 1, before: seq + 1 })
  if (event?.type !== 'user_msg') throw new ConversationNotFoundError(id)
  return event.content.turnId
}

/** The turn that a message with this key opens or opened, unless it steered another. */
export function turnIdOf(key: string): string {
  return `turn-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`
}

/** A digest of what the caller asked for. What the agent adds may change with a deploy between two tries. */
function digestOf(message: UserMessage, { output, untilTool, maxSteps, maxTokens }: SendOptions): string {
  const asked = { output: output && toJsonSchema(output), untilTool, maxSteps, maxTokens }
  return createHash('sha256').update(encode(message)).update(JSON.stringify(asked)).digest('hex')
}

function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | null = null
  return () => {
    loaded ??= load()
    return loaded
  }
}
