import { createHash } from 'node:crypto'
import type { ErrorCode } from '../base/errors/codes.ts'
import { NotAConversationError } from '../base/errors/flow-errors.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { readArgument, readOptions } from '../base/errors/read-options.ts'
import { AgentMismatchError, BusyError } from '../base/errors/runtime-errors.ts'
import { ConversationNotFoundError, InvalidArgumentError, KeyReusedError } from '../base/errors/store-errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import type { Agent } from '../define/agent.ts'
import { flowOfAgent } from '../define/define-flow.ts'
import { toJsonSchema } from '../define/schema.ts'
import type { GrantedLease, LeaseRequest } from '../engine/lease-request.ts'
import { actorOfTurn, forkerOf, type Identity, isCopied, openerOfTurn } from '../engine/scopes.ts'
import {
  type MessageInput,
  readData,
  readMessage,
  type SendOptions,
  turnOptions,
  type WhenBusy,
} from '../engine/turn-options.ts'
import { encode } from '../log/codec.ts'
import type { NewEvent, UserMessage } from '../log/events.ts'
import { type FsmState, fsmStateWith } from '../log/fsm-state.ts'
import { type ConversationState, emptyState, openTurn, type TurnState } from '../log/state.ts'
import { openerOf } from '../snapshot/owner-of.ts'
import { type Change, markOwnerChange, placedEvents } from '../store/change.ts'
import { checkId, checkOneOf, isId } from '../store/checks.ts'
import { logPages } from '../store/log-pages.ts'
import type { ConversationAttrs } from '../store/records.ts'
import type { Standing, TenantStore } from '../store/store.ts'
import { type WorkingSet, withEvents } from '../store/working-sets.ts'
import { findReplaced, type Replacing, supersededBy } from './replace-turn.ts'
import type { Restored } from './restore-conversation.ts'

export type Sending = {
  readonly id: string
  readonly agent: Agent
  readonly identity: Identity
  readonly store: TenantStore
  /** The folded log, up to date. Only called when the decision depends on it. */
  readonly state: () => Promise<ConversationState>
  /** The folded log as this process saw it last; null when it has not. */
  readonly known: () => WorkingSet | null
  /** The log after the message, if that is known without reading. */
  readonly onKnown: (workingSet: WorkingSet) => void
  /** Begins an empty log with what a snapshot says. */
  readonly restore: () => Promise<Restored>
  readonly leaseRequest: LeaseRequest
  /** The trace that the message is recorded with, given that of the caller. */
  readonly trace: (given: string | undefined) => { readonly traceparent?: string }
  /** Whether no process takes the conversation, because it, the agent or the tenant is paused. */
  readonly isPaused: () => Promise<boolean>
  /** `authorize` allowed the caller to open a conversation, not to write to an existing one: throws `BegunMeanwhile` if one exists. */
  readonly isNew: boolean
}

/** A turn is tried again as it was recorded, also on a node without the agent's code. */
export type Retrying = Omit<Sending, 'agent'> & { readonly agent: Pick<Agent, 'name'> }

/** Another caller has opened the conversation since this one was authorized to. */
export class BegunMeanwhile extends Error {}

const noSeq = Number.MAX_SAFE_INTEGER
const optionNames = [
  ...(['key', 'whenBusy', 'output', 'untilTool', 'maxSteps', 'maxTokens', 'data', 'replaces', 'force'] as const),
  'traceparent' as const,
]

export type Sent = {
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
  const replacing = readReplacing(options)
  const { message, files } = readMessage(input)
  const data = options.data === undefined ? {} : { data: readData(options.data) }
  const content = {
    message,
    options: readArgument('output', () => turnOptions(agent, options)),
    who: identity.who,
    ...data,
    ...(key === undefined ? {} : { key }),
    ...sending.trace(options.traceparent),
  }
  const newTurnId = key === undefined ? uuidV7() : turnIdOf(key)
  const request =
    key === undefined
      ? { resendKey: `send/${newTurnId}` }
      : { key, digest: readArgument('output', () => digestOf(message, { ...options, ...data })) }
  // A file that no message refers to would stay for ever, so files are stored once the message is known to be new.
  // And a message that was sent before has replaced its turn already.
  if (key !== undefined && !sending.isNew && (files.length > 0 || replacing)) {
    const known = await sentBefore(sending, request).catch((error: unknown) => tellTurnOfKey(error, key, sending))
    if (known) return { ...known, interrupts }
  }
  let areFilesStored = false
  const restore = once(sending.restore)
  for (let attempt = 1; ; attempt++) {
    const quick = attempt === 1 && !replacing ? planOnKnown(whenBusy, newTurnId, message, sending) : null
    const planning = { ...sending, restore }
    const planned = replacing
      ? await planReplacing(replacing, newTurnId, planning).catch((error) => sentMeanwhile(error, sending, request))
      : (quick ?? (await plan(options.whenBusy, newTurnId, message, planning)))
    if ('seq' in planned) return { ...planned, interrupts }
    const { turnId, events, expectedSeq, attrs, known, cached } = planned
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
    const committed = store.commit(id, change)
    const result = await (key === undefined
      ? committed
      : committed.catch((error: unknown) => tellTurnOfKey(error, key, sending)))
    // Durable from here: the message survives a crash, and a node that has the agent's code continues with it.
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

/** The message that was sent with this key before; null where there is none. */
export async function sentBefore(
  { id, store }: Pick<Sending, 'id' | 'store'>,
  request: Pick<Change, 'key' | 'digest'>,
): Promise<Omit<Sent, 'interrupts'> | null> {
  const known = await store.commit(id, { events: [], ...request, expectedSeq: noSeq })
  return known.ok ? { seq: known.seq, turnId: await turnAt(store, id, known.seq), lease: null } : null
}

/** Two equal requests at once: the second is refused because of the first's commit, and returns the first's result. */
export async function sentMeanwhile(
  error: unknown,
  sending: Pick<Sending, 'id' | 'store'>,
  request: Pick<Change, 'key' | 'digest'>,
): Promise<Omit<Sent, 'interrupts'>> {
  const isOfFirst = PerdureError.isInstance(error) && ofFirst.includes(error.code)
  const known = isOfFirst && request.key !== undefined ? await sentBefore(sending, request) : null
  if (!known) throw error
  return known
}

const ofFirst: readonly ErrorCode[] = ['turn_superseded', 'conversation_busy', 'force_needed']

function readReplacing({ replaces, force, whenBusy }: SendOptions): Replacing | null {
  checkForce(force)
  if (replaces === undefined) {
    if (force)
      throw new InvalidArgumentError('force', "is for a message that 'replaces' a turn; name the turn, or leave it out")
    return null
  }
  checkId('replaces', replaces)
  if (whenBusy !== undefined && whenBusy !== 'reject') {
    const problem = `is '${whenBusy}', but a message that replaces a turn needs a conversation at rest; leave it out`
    throw new InvalidArgumentError('whenBusy', problem)
  }
  return { turnId: replaces, force: force ?? false }
}

export function checkForce(force: boolean | undefined): void {
  if (force !== undefined && typeof force !== 'boolean')
    throw new InvalidArgumentError('force', 'must be true or false')
}

async function planReplacing(replacing: Replacing, turnId: string, sending: Sending): Promise<Plan> {
  await standingToReplace(sending)
  const { turn, lastSeq } = await findReplaced(sending, replacing)
  return { turnId, events: [supersededBy(turn, turnId)], expectedSeq: lastSeq, attrs: null }
}

type Plan = {
  readonly turnId: string
  readonly events: readonly NewEvent[]
  /** Null: the commit is made on the log as it is at that moment. */
  readonly expectedSeq: number | null
  readonly attrs: ConversationAttrs | null
  /** What it was decided on, where nothing was read: the commit makes sure that it is still so. */
  readonly known?: WorkingSet
  /** The cached state after the commit. */
  readonly cached?: FsmState
}

/** Most messages go to an idle conversation whose log this process knows. Null when the store must be read. */
function planOnKnown(
  whenBusy: WhenBusy,
  turnId: string,
  message: UserMessage,
  { agent, known: find, isNew }: Sending,
): Plan | null {
  const known = isNew ? null : find()
  if (known?.agent !== agent.name || known.lastAt === 0 || whenBusy === 'queue' || openTurn(known.state)) return null
  return { turnId, events: [], attrs: null, ...knownPlan(message, known) }
}

/** The commit is refused unless the log still ends where `known` does. Once it is made, the log therefore equals `known` plus what was appended. */
function knownPlan(message: UserMessage, known: WorkingSet): Pick<Plan, 'expectedSeq' | 'known' | 'cached'> {
  return { expectedSeq: known.state.lastSeq, known, cached: fsmStateWith(message, known.state) }
}

async function plan(
  given: WhenBusy | undefined,
  newTurnId: string,
  message: UserMessage,
  sending: Sending,
): Promise<Plan> {
  const { id, agent, identity, store, state, isPaused } = sending
  const standing = await standingOf(sending)
  // A turn that no process works on until a person releases it is not one to wait for: the message queues.
  const whenBusy = given ?? (standing?.isQuarantined ? 'queue' : 'reject')
  const attrs = await attrsOf(standing, agent.name, identity.who, { id, store })
  const fresh = { turnId: newTurnId, events: [], attrs }
  if (!standing) return { ...fresh, ...knownPlan(message, emptyLog()) }
  if (whenBusy === 'queue') return { ...fresh, expectedSeq: null }
  if (standing.isIdle) return { ...fresh, expectedSeq: standing.lastSeq }
  const folded = await state()
  const open = openTurn(folded)
  if (!open) return { ...fresh, expectedSeq: folded.lastSeq }
  if (whenBusy === 'reject') {
    // Nothing ends the turn that is open until a person resumes the work.
    const queues = given === undefined && (await isPaused())
    return { ...fresh, expectedSeq: queues ? null : noSeq }
  }
  if (whenBusy === 'steer') {
    // A turn that is being cancelled is not steered, and a turn acts for one person: then the message queues.
    return open.cancel || (await actorOfOpen(open, store, id)) !== identity.who
      ? { ...fresh, expectedSeq: folded.lastSeq }
      : { ...fresh, turnId: open.turnId, expectedSeq: folded.lastSeq }
  }
  const cancel: NewEvent = { type: 'cancel_requested', content: { turnId: open.turnId, who: identity.who } }
  return { ...fresh, events: open.cancel ? [] : [cancel], expectedSeq: folded.lastSeq }
}

/** A row that the application made before the first message, or that an earlier version wrote, has no owner yet. */
async function attrsOf(
  standing: Standing | null,
  agent: string,
  who: string,
  { id, store }: Pick<Sending, 'id' | 'store'>,
): Promise<ConversationAttrs | null> {
  if (!standing) return { agent }
  const opener = standing.owner === null ? ((standing.lastSeq > 0 ? await openerOf(store, id) : null) ?? who) : null
  // A user id may be one that no row can have. Then the conversation stays without an owner, whoever sends.
  const owner = isId(opener) ? opener : null
  if (standing.agent) return owner === null ? null : { owner }
  return { agent, ...(owner === null ? {} : { owner }) }
}

/** The user for whom the turn continues. Of a large turn, the state may have only the last part. */
async function actorOfOpen(open: TurnState, store: TenantStore, id: string): Promise<string> {
  const forker = await forkerOf(store, id)
  if (!open.leftOut || isCopied(open, forker)) return actorOfTurn(open, forker)
  const [event] = await store.streamEvents(id, { after: open.firstSeq - 1, before: open.firstSeq + 1 })
  return event?.type === 'user_msg' ? event.content.who : openerOfTurn(open)
}

/** What a message is planned on, with what a snapshot says where the log is empty. Throws where the conversation is not the agent's. */
async function standingOf({ id, agent, store, restore, isNew }: Retrying): Promise<Standing | null> {
  let standing = await store.standing(id)
  if (isNew && standing) throw new BegunMeanwhile()
  if (!standing?.lastSeq) {
    const restored = await restore()
    if (isNew && restored === 'begun_elsewhere') throw new BegunMeanwhile()
    if (restored !== 'nothing') standing = await store.standing(id)
  }
  if (!standing?.agent || standing.agent === agent.name) return standing
  const isSession = (await store.getConversation(id))?.kind === 'flow'
  if (isSession) throw new NotAConversationError(id, flowOfAgent(standing.agent))
  throw new AgentMismatchError(id, standing.agent, agent.name)
}

/** An empty log has no turn to replace. The log that is read next may already be one that another caller has begun. */
export async function standingToReplace(sending: Retrying): Promise<void> {
  const standing = await standingOf(sending)
  if (sending.isNew && !standing) throw new ConversationNotFoundError(sending.id)
}

function emptyLog(): WorkingSet {
  return { state: emptyState, lastAt: 0, origin: { summary: null } }
}

/** A known key is answered before anything else, so a busy conversation was asked with an impossible seq, to find out. */
async function refuseWhenBusy({ id, state }: Sending): Promise<void> {
  const open = openTurn(await state())
  if (open) throw new BusyError(id, open.turnId)
}

/** A key that was used for another message says which turn that one made, or steered. Read from the log, because the turn may have been replaced since. */
export async function tellTurnOfKey(
  error: unknown,
  key: string,
  { id, store }: Pick<Sending, 'id' | 'store'>,
): Promise<never> {
  if (!(error instanceof KeyReusedError)) throw error
  for await (const { events } of logPages(store, id)) {
    const said = [...events].findLast((event) => event.type === 'user_msg' && event.content.key === key)
    if (said?.type === 'user_msg') throw new KeyReusedError(id, key, said.content.turnId)
  }
  throw error
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
function digestOf(message: UserMessage, options: SendOptions): string {
  const { output, untilTool, maxSteps, maxTokens, data, replaces } = options
  const asked = { output: output && toJsonSchema(output), untilTool, maxSteps, maxTokens, data, replaces }
  return createHash('sha256').update(encode(message)).update(JSON.stringify(asked)).digest('hex')
}

function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | null = null
  return () => {
    loaded ??= load()
    return loaded
  }
}
