import { EventTooLargeError } from '../base/errors/log-errors.ts'
import { readMembers, shown } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import { blobRefsIn } from '../log/blob-ref.ts'
import { decode, encode } from '../log/codec.ts'
import { creatingTypes, isOwnersEvent, wakingTypes } from '../log/event-roles.ts'
import type { DeadlineMoved, NewEvent, Resolution } from '../log/events.ts'
import { statusOf } from '../log/fsm-state.ts'
import { checkNewEvent } from '../log/validate-event.ts'
import { type Change, isOwnerChange, type ResolveCall, reportsOutcome, withdrawalIn } from './change.ts'
import { checkDuration, checkId, checkOneOf, checkWhole, maxEventBytes, maxNoteBytes, readList } from './checks.ts'
import type { PreparedChange, PreparedDeadline, PreparedResolve, StoredAttrs, StoredCallWrite, Wake } from './driver.ts'
import { noDeadline } from './flow-call.ts'
import { readAcquire } from './read-limits.ts'
import { type ConversationAttrs, callKinds, conversationStatuses, type Parent, type ToolCallWrite } from './records.ts'
import { encodeMeta, encodeNotice, openerIn } from './rows.ts'
import { withTitle } from './title-of-change.ts'

const largeEventBytes = 256 * 1024

export type PrepareOptions = {
  /** Creates the conversation whatever the events are. */
  readonly creates?: boolean
  /** The change is an expiry: refused before the deadline, and it leaves a dormant fork alone. */
  readonly isExpiry?: boolean
  /** The change ends a pending call by its id. Its result needs no lease, because the guard of the call decides. */
  readonly endsCall?: boolean
  /** The driver resends changes. */
  readonly resends?: boolean
  /** The conversation that the change is written to. */
  readonly conversationId?: string
  readonly onLargeEvent?: (type: string, bytes: number) => void
}

/** Checks and encodes a change, once for all backends. Throws before anything is written. */
export function prepareChange(input: Change, options: PrepareOptions = {}): PreparedChange {
  const isOwn = isOwnerChange(input)
  const change = isOwn ? input : readChange(input)
  if (change.expectedSeq !== undefined) checkWhole('expectedSeq', change.expectedSeq, 0)
  if (change.expectedAt !== undefined) {
    checkWhole('expectedAt', change.expectedAt, 0)
    if (!change.expectedSeq)
      throw new InvalidArgumentError('expectedAt', "is the time of the event at 'expectedSeq'; pass both")
  }
  if (change.expectedAgent !== undefined) {
    checkId('expectedAgent', change.expectedAgent)
    if (!change.expectedSeq) throw new InvalidArgumentError('expectedAgent', "is the agent at 'expectedSeq'; pass both")
  }
  if (change.epoch !== undefined) checkWhole('epoch', change.epoch, 0)
  if (change.key !== undefined) checkId('key', change.key)
  if (change.resendKey !== undefined) checkId('resendKey', change.resendKey)
  if (change.digest !== undefined) checkId('digest', change.digest)
  if (change.lease === 'release' && change.epoch === undefined)
    throw new InvalidArgumentError('lease', "can only be released with its 'epoch'")
  const acquires = change.acquire ? readAcquire(change.acquire) : null
  checkDistinct(
    'calls',
    change.calls?.map((call) => call.id),
  )
  checkDistinct(
    'resolve',
    change.resolve?.map((item) => item.callId),
  )
  const blobs = new Set<string>()
  const encoded = change.events.map((event) => encodeEvent(event, blobs, isOwn, options))
  const given = change.conversation?.title
  // The engine writes both itself.
  const { events, title } = isOwn ? { events: encoded, title: given } : withTitle(encoded, given)
  const isWaking = change.events.some((event) => wakingTypes.has(event.type))
  const wake = wakeOf(change, isWaking, options.isExpiry ?? false)
  const fsmState = change.fsmState ?? change.conversation?.fsmState
  // Weakest first: the wake-up, the state the owner computed, the caller's attributes.
  const status = isWaking && wake.type === 'in' ? { status: 'active' as const } : {}
  const cached = fsmState ? { status: statusOf(fsmState.state) } : {}
  const creates =
    options.creates ?? (change.epoch === undefined && change.events.some((event) => creatingTypes.has(event.type)))
  const attrs = {
    ...encodeAttrs({
      ...ownerIn(change, creates),
      ...status,
      ...cached,
      ...change.conversation,
      ...(title !== undefined && { title }),
      ...(fsmState && { fsmState }),
    }),
    ...idleSeqOf(change),
  }
  return {
    events,
    blobs: [...blobs],
    expectedSeq: change.expectedSeq ?? null,
    expectedAt: change.expectedAt ?? null,
    expectedAgent: change.expectedAgent ?? null,
    epoch: change.epoch ?? null,
    needsFree: change.epoch === undefined && !options.endsCall && change.events.some(isOwnersEvent),
    key: change.key ?? (options.resends ? resendKeyOf(change) : null),
    digest: change.digest ?? null,
    calls: (change.calls ?? []).map((call) => encodeCall(call, options.conversationId)),
    resolve: encodeResolves(change, options.isExpiry ?? false),
    deadline: deadlineIn(change, events),
    attrs,
    wake,
    releasesLease: change.lease === 'release',
    acquires,
    creates,
    // A log takes a seed only as its first event.
    seeds: change.events[0]?.type === 'seeded',
    withdrawsFrom: withdrawalIn(change),
  }
}

/** The first message, or the start of a session, says who opened the log. Only a change that may begin one is looked at. */
function ownerIn({ events, expectedSeq }: Change, creates: boolean): Pick<ConversationAttrs, 'owner'> {
  const owner = creates && !expectedSeq ? openerIn(events) : null
  return owner === null ? {} : { owner }
}

/** A change that takes the lease always has a key: without one, a repeat could not learn that the first attempt took it. */
function resendKeyOf({ resendKey, acquire }: Change): string | null {
  return resendKey ?? (acquire ? `acquire/${uuidV7()}` : null)
}

/** Only a change that was decided on a known log says where no turn is open: messages are planned on it. */
function idleSeqOf({ fsmState, epoch, expectedSeq }: Change): Pick<StoredAttrs, 'idleSeq'> {
  if (!fsmState || (epoch === undefined && expectedSeq === undefined)) return {}
  return { idleSeq: fsmState.state === 'idle' ? fsmState.lastSeq : 0 }
}

/** The result of two writes to one row in one change would depend on the backend's order. */
function checkDistinct(name: string, callIds: readonly string[] = []): void {
  if (callIds.length > 1 && new Set(callIds).size < callIds.length)
    throw new InvalidArgumentError(name, 'must not name a call twice')
}

function encodeEvent(
  event: NewEvent,
  blobs: Set<string>,
  isOwn: boolean,
  { onLargeEvent }: PrepareOptions,
): { type: string; content: string } {
  const content = encode(event.content, 'content')
  // For events from outside, the decoded text is checked, because it is what will be read: members that are not enumerable are not written.
  checkNewEvent(isOwn ? event : ({ type: event.type, content: decode(content) } as NewEvent))
  const limit = event.type === 'note' ? maxNoteBytes : maxEventBytes
  // A UTF-16 unit has at most three bytes in UTF-8.
  const bytes = content.length * 3 > Math.min(limit, largeEventBytes) ? Buffer.byteLength(content) : 0
  if (bytes > limit) throw new EventTooLargeError(event.type, bytes, limit)
  if (bytes > largeEventBytes) onLargeEvent?.(event.type, bytes)
  if (content.includes('"blob"')) for (const hash of blobRefsIn(event.content as Json)) blobs.add(hash)
  return { type: event.type, content }
}

function wakeOf({ wakeAt }: Change, isWaking: boolean, isExpiry: boolean): Wake {
  if (wakeAt === null) return { type: 'clear' }
  if (wakeAt === 'now') return { type: 'in', ms: 0 }
  if (wakeAt !== undefined) {
    checkDuration('wakeAt.inMs', wakeAt.inMs, 0)
    return { type: 'in', ms: wakeAt.inMs }
  }
  if (isExpiry) return { type: 'expiry' }
  return isWaking ? { type: 'in', ms: 0 } : { type: 'keep' }
}

function encodeAttrs(attrs: ConversationAttrs): StoredAttrs {
  if (attrs.agent !== undefined) checkId('agent', attrs.agent)
  if (attrs.owner !== undefined) checkId('owner', attrs.owner)
  if (attrs.kind !== undefined) checkOneOf('kind', attrs.kind, ['conversation', 'flow'])
  const stored: { -readonly [Key in keyof StoredAttrs]: StoredAttrs[Key] } = {}
  if (attrs.kind !== undefined) stored.kind = attrs.kind
  if (attrs.agent !== undefined) stored.agent = attrs.agent
  if (attrs.owner !== undefined) stored.owner = attrs.owner
  if (attrs.status !== undefined) {
    checkOneOf('status', attrs.status, conversationStatuses)
    stored.status = attrs.status
  }
  if (attrs.settings !== undefined) stored.settings = encodeSettings(attrs.settings)
  if (attrs.fsmState !== undefined) stored.fsmState = encode(attrs.fsmState, 'fsmState')
  if (attrs.title !== undefined) stored.title = attrs.title === null ? null : encode(attrs.title, 'title')
  if (attrs.parent !== undefined) {
    checkId('parent id', attrs.parent.id)
    if (attrs.parent.callId !== undefined) checkId('parent call id', attrs.parent.callId)
    if (attrs.parent.at !== undefined) checkWhole('parent.at', attrs.parent.at, 0)
    stored.parent = encodeParent(attrs.parent)
    stored.childOf = attrs.parent.callId === undefined ? null : attrs.parent.id
  }
  return stored
}

/** Members in this order, which `forkParents` relies on. */
function encodeParent({ id, at, callId }: Parent): string {
  return encode({ id, ...(at === undefined ? {} : { at }), ...(callId === undefined ? {} : { callId }) })
}

function encodeSettings(settings: unknown): string {
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    throw new InvalidArgumentError('settings', 'must be an object')
  }
  return encode(settings, 'settings')
}

export function encodeCall(call: ToolCallWrite, conversationId?: string): StoredCallWrite {
  checkId('call id', call.id)
  if (call.conversationId !== undefined && call.conversationId !== conversationId)
    throw new InvalidArgumentError(
      'conversationId',
      `of call '${call.id}' is ${shown(call.conversationId)}, but the row is written to '${conversationId}'; use the same id, or leave it out`,
    )
  const status = call.status ?? 'pending'
  const executor = call.executor ?? 'server'
  const kind = call.kind ?? 'approval'
  checkOneOf('status', status, ['pending', ...finalStatuses])
  checkOneOf('executor', executor, ['server', 'human', 'client', 'provider', 'agent'])
  checkOneOf('kind', kind, callKinds)
  checkWhole('round', call.round ?? 1, 1)
  if (call.expiresInMs !== undefined && call.expiresInMs !== null) {
    checkDuration('expiresInMs', call.expiresInMs)
    if (kind === 'flow') throw new InvalidArgumentError('expiresInMs', noDeadline(call.id))
  }
  return {
    id: call.id,
    name: encode(call.name ?? '', 'name'),
    executor,
    status,
    args: encode(call.args ?? null, 'args'),
    result: call.result === undefined ? null : encode(call.result, 'result'),
    round: call.round ?? 1,
    kind,
    prompt: call.prompt === undefined ? null : encode(call.prompt, 'prompt'),
    notice: encodeNotice(call.notice),
    meta: encodeMeta(call.meta),
    expiresInMs: status === 'pending' ? (call.expiresInMs ?? null) : null,
  }
}

export const finalStatuses = ['resolved', 'errored', 'denied', 'expired', 'cancelled'] as const

/** A row that reads as an error beside an event that grants or answers would hide that the call continues. */
function checkSameEnd({ callId, status }: ResolveCall, { kind, status: logged }: Resolution): void {
  const isError = status === 'errored' && (logged === 'denied' || (logged === 'resolved' && reportsOutcome(kind)))
  if (status === logged || isError) return
  throw new InvalidArgumentError(
    'resolve',
    `ends call '${callId}' as '${status}', but its resolution says '${logged}'; use the same status, or \`resolveToolCall\``,
  )
}

function encodeResolves({ resolve = [], events }: Change, onlyWhenDue: boolean): PreparedResolve[] {
  const resolutions = resolve.length > 0 ? resolutionsIn(events) : new Map<string, PlacedResolution>()
  return resolve.map((item) => {
    const { callId, round, status } = item
    checkId('call id', callId)
    checkWhole('round', round, 1)
    checkOneOf('status', status, finalStatuses)
    const event = resolutions.get(roundKey(callId, round))
    if (event) checkSameEnd(item, event.content)
    const eventIndex = event?.index ?? null
    return { callId, round, status, result: encode(item.result, 'result'), eventIndex, onlyWhenDue }
  })
}

/** Read from the encoded event, because that is what will be in the log. */
function deadlineIn({ calls, resolve }: Change, events: PreparedChange['events']): PreparedDeadline | null {
  const event = events.find(({ type }) => type === 'deadline_moved')
  if (!event) return null
  if (calls?.length || resolve?.length || events.some((other) => other !== event && other.type === event.type))
    throw new InvalidArgumentError('events', 'move a deadline; commit other deadlines, calls and resolve separately')
  const { callId, round, expiresInMs } = decode(event.content) as DeadlineMoved
  checkId('call id', callId)
  if (expiresInMs !== null) checkDuration('expiresInMs', expiresInMs)
  return { callId, round, expiresInMs }
}

type PlacedResolution = { readonly index: number; readonly content: Resolution }

/** The first resolution of each round of each call. */
function resolutionsIn(events: readonly NewEvent[]): Map<string, PlacedResolution> {
  const resolutions = new Map<string, PlacedResolution>()
  for (const [index, { type, content }] of events.entries()) {
    if (type !== 'resolution') continue
    const key = roundKey(content.callId, content.round)
    if (!resolutions.has(key)) resolutions.set(key, { index, content })
  }
  return resolutions
}

function roundKey(callId: string, round: number): string {
  return `${round} ${callId}`
}

/**
 * Copies a change from a caller. Each member is read once, so that what is checked is what is written, even if a getter returns something else next time.
 * Nested members are checked when they are encoded.
 */
function readChange(input: Change): Change {
  const { events, calls, resolve, acquire, wakeAt, conversation, ...change } = membersOf('change', input, ofChange)
  return {
    ...change,
    events: readList('events', events!).map(readEvent),
    ...(calls ? { calls: readList('calls', calls).map((call) => membersOf('call', call, ofCall)) } : {}),
    ...(resolve ? { resolve: readList('resolve', resolve).map((item) => membersOf('resolve', item, ofResolve)) } : {}),
    ...(acquire ? { acquire: membersOf('acquire', acquire, ['holder', 'ttlMs', 'suspects', 'limits']) } : {}),
    ...(wakeAt === undefined ? {} : { wakeAt: readWake(wakeAt) }),
    ...(conversation ? { conversation: readAttrs(conversation) } : {}),
  }
}

function readEvent(event: NewEvent): NewEvent {
  if (typeof event !== 'object' || event === null)
    throw new InvalidArgumentError('event', 'must be an object with type and content')
  return { type: event.type, content: event.content } as NewEvent
}

function readWake(wakeAt: NonNullable<Change['wakeAt']> | null): NonNullable<Change['wakeAt']> | null {
  return wakeAt === null || wakeAt === 'now' ? wakeAt : membersOf('wakeAt', wakeAt, ['inMs'])
}

export function readAttrs(input: ConversationAttrs): ConversationAttrs {
  const { parent, ...attrs } = membersOf('conversation', input, ofConversation)
  return parent === undefined ? attrs : { ...attrs, parent: membersOf('parent', parent, ofParent) }
}

/** A member that the caller left out is reported by the checks, which know what is required. */
function membersOf<T extends object>(name: string, input: T, members: readonly (keyof T & string)[]): T {
  return readMembers(name, input ?? null, members) as T
}

const ofChange = namesOf<Change>({
  events: true,
  expectedSeq: true,
  expectedAt: true,
  expectedAgent: true,
  epoch: true,
  key: true,
  resendKey: true,
  digest: true,
  calls: true,
  resolve: true,
  fsmState: true,
  wakeAt: true,
  lease: true,
  acquire: true,
  conversation: true,
})

const ofCall = namesOf<ToolCallWrite>({
  id: true,
  conversationId: true,
  name: true,
  executor: true,
  status: true,
  args: true,
  result: true,
  round: true,
  kind: true,
  prompt: true,
  expiresInMs: true,
  notice: true,
  meta: true,
})

const ofResolve = namesOf<ResolveCall>({ callId: true, round: true, status: true, result: true })

const ofConversation = namesOf<ConversationAttrs>({
  kind: true,
  agent: true,
  owner: true,
  status: true,
  settings: true,
  fsmState: true,
  title: true,
  parent: true,
})

const ofParent = namesOf<Parent>({ id: true, at: true, callId: true })

/** The compiler requires every name. */
function namesOf<T>(names: Readonly<Record<keyof T & string, true>>): readonly (keyof T & string)[] {
  return Object.keys(names) as (keyof T & string)[]
}
