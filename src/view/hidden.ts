import { errorCodes } from '../base/errors/codes.ts'
import { isFileUrl, withWebUrl } from '../log/blob-ref.ts'
import { expiredError, interruptedEnd } from '../log/call-phase.ts'
import type { AssistantPart, EventOf, InterruptedEnd, LogEvent, TurnStatus, UserPart } from '../log/events.ts'
import type { CallState } from '../log/state.ts'
import type { ViewPart } from './view.ts'

/** An error as the log records it. `userFacing`: its text is meant for people. */
export type RecordedError = { readonly error: string; readonly outcome?: InterruptedEnd; readonly userFacing?: boolean }

/**
 * What a page reads about a tool's error: that it failed, and in which call. The error text is shown only when it is meant for people or comes from Perdure.
 */
export function hiddenError({ error, outcome, userFacing }: RecordedError, what: string): string {
  if (userFacing === true || isOwnText(error)) return error
  if (outcome === 'unknown') return `It failed and may have taken effect (${what}).`
  return outcome === 'ran' ? `It ran, but its result could not be recorded (${what}).` : `It failed (${what}).`
}

/** What a page reads about the error of a child agent. */
export function hiddenChildError(recorded: RecordedError, what: string): string {
  const shown = hiddenError(recorded, what)
  const own = ofChild.exec(recorded.error)?.[0]
  return own && shown !== recorded.error ? `${own} (${what}).` : shown
}

/** Why a turn ended. A failure shows only its code, since the rest quotes a provider, a hook or a tool. */
export function hiddenReason(status: TurnStatus | 'detached', reason: string | null): string | null {
  if (status === 'detached') return 'The end of this turn is not known here. Ask again.'
  return status === 'failed' ? codeOf(reason) : reason
}

/** The code that a reason starts with; `internal_error` when it is not one of Perdure's codes. */
export function codeOf(reason: string | null): string {
  const code = /^[a-z_]+/.exec(reason ?? '')?.[0] ?? ''
  return Object.hasOwn(errorCodes, code) || ownReasons.has(code) ? code : 'internal_error'
}

/** Reasons of Perdure's own that are not error codes. */
const ownReasons = new Set(['invalid_object', 'object_cut_off', 'interrupted'])

/**
 * Whether the text is Perdure's own and the same whatever a tool threw. A text missing from this list is hidden, so rewording a message elsewhere reveals
 * nothing.
 */
function isOwnText(error: string): boolean {
  return ownTexts.has(error) || ownPatterns.some((pattern) => pattern.test(error))
}

const ownTexts = new Set([
  expiredError,
  interruptedEnd.error,
  'cancelled before it was started',
  'cancelled while it ran: its outcome is unknown; it may have taken effect',
  'the process was about to end: it was not run',
  'It was not run: who it should run for could not be found out.',
  'It was not run: the state of the conversation does not match its schema.',
])

const ownPatterns = [
  /^timed out after \d{1,15} ms: its outcome is unknown; it may have taken effect$/,
  /^its arguments could not be checked within \d{1,15} ms; it was not run$/,
  /^it could not be started within \d{1,15} ms; it was not run$/,
  /^It (?:failed|failed and may have taken effect|ran, but its result could not be recorded) \([^()\s]{1,20} '[^'\s]{1,512}'\)\.$/,
  /^the agent '[^'\s]{1,512}' (?:failed|was cancelled|was halted) \(call '[^'\s]{1,512}'\)\.$/,
]

const ofChild = /^the agent '[^'\s]{1,512}' (?:failed|was cancelled|was halted)/

/**
 * Empties messages that no hook has passed. Every reader except an operator gets events through this. The mark of such a message comes before it, so for a page
 * that starts with the message, `before` must be the event before the page. Pure.
 */
export function* hideWithheld(
  events: Iterable<LogEvent>,
  before: LogEvent | null = null,
): Generator<LogEvent, void, void> {
  const withheld = new Set<string>()
  if (before?.type === 'withheld') withheld.add(before.content.messageId)
  for (const event of events) {
    if (event.type === 'withheld') withheld.add(event.content.messageId)
    yield event.type === 'assistant_msg' && withheld.has(event.content.messageId) ? withoutContent(event) : event
  }
}

/** Keeps the fact that there was a message, and its usage. */
export function withoutContent(event: EventOf<'assistant_msg'>): EventOf<'assistant_msg'> {
  const { object: _, ...content } = event.content
  return { ...event, content: { ...content, parts: [] } }
}

/** Drops URLs that a page must not open. A log may be older than the rule that refuses them, or written by another program. */
export function safePart<Part extends UserPart | AssistantPart | ViewPart>(part: Part): Part {
  if (part.type === 'source') {
    const source = withWebUrl(part.source)
    return source === part.source ? part : { ...part, source }
  }
  if (part.type !== 'file' || typeof part.data !== 'string' || isFileUrl(part.data)) return part
  return { ...part, data: 'about:blank' }
}

/** What a tool gets back with the answer to its question, such as the `requestState` of an MCP server. That it asked stays. */
export function withoutToolState(call: CallState): CallState {
  const rounds = mapped(call.rounds, (round) =>
    (round.toolState ?? null) === null ? round : { ...round, toolState: null },
  )
  const asking = call.asking && (call.asking.state === null ? call.asking : { ...call.asking, state: null })
  if (rounds === call.rounds && asking === call.asking) return call
  return { ...call, rounds, ...(asking ? { asking } : {}) }
}

/** Returns the same list when no member changed. */
export function mapped<T>(list: readonly T[], change: (member: T) => T): readonly T[] {
  let isSame = true
  const changed = list.map((member) => {
    const next = change(member)
    if (next !== member) isSame = false
    return next
  })
  return isSame ? list : changed
}
