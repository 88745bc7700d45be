import { errorCodes } from '../base/errors/codes.ts'
import { isFileUrl, withWebUrl } from '../log/blob-ref.ts'
import { expiredError, interruptedEnd } from '../log/call-phase.ts'
import type { AssistantPart, EventOf, InterruptedEnd, LogEvent, TurnStatus, UserPart } from '../log/events.ts'
import type { ViewPart } from './view.ts'

/** An error as the log has it. `userFacing`: it is meant for people. */
export type RecordedError = { readonly error: string; readonly outcome?: InterruptedEnd; readonly userFacing?: boolean }

/** What a page is told of an error of a tool: that it failed and whose call it was; the words where they are meant for people, or Perdure's own. */
export function hiddenError({ error, outcome, userFacing }: RecordedError, what: string): string {
  if (userFacing === true || isOwnText(error)) return error
  if (outcome === 'unknown') return `It failed and may have taken effect (${what}).`
  return outcome === 'ran' ? `It ran, but its result could not be recorded (${what}).` : `It failed (${what}).`
}

/** What a page is told of an agent that a call started. */
export function hiddenChildError(recorded: RecordedError, what: string): string {
  const shown = hiddenError(recorded, what)
  const own = ofChild.exec(recorded.error)?.[0]
  return own && shown !== recorded.error ? `${own} (${what}).` : shown
}

/** Why a turn ended: of a failure only its code, since the rest quotes a provider, a hook or a tool. */
export function hiddenReason(status: TurnStatus | 'detached', reason: string | null): string | null {
  if (status === 'detached') return 'The end of this turn is not known here. Ask again.'
  return status === 'failed' ? codeOf(reason) : reason
}

/** The code a reason begins with; `internal_error` where it is none of ours. */
export function codeOf(reason: string | null): string {
  const code = /^[a-z_]+/.exec(reason ?? '')?.[0] ?? ''
  return Object.hasOwn(errorCodes, code) || ownReasons.has(code) ? code : 'internal_error'
}

/** Reasons that are not errors of Perdure. */
const ownReasons = new Set(['invalid_object'])

/** Texts that are the same whatever a tool threw. One that is missing here is hidden, so a change of words elsewhere reveals nothing. */
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
 * Empties the messages that no hook has passed: every reader but an operator gets events this way. The mark of such a message comes before it, so of a page that
 * begins with its message, `before` is the event before the first. Pure.
 */
export function* withoutWithheld(
  events: Iterable<LogEvent>,
  before: LogEvent | null = null,
): Generator<LogEvent, void, void> {
  const withheld = new Set<string>()
  if (before?.type === 'withheld') withheld.add(before.content.messageId)
  for (const event of events) {
    if (event.type === 'withheld') withheld.add(event.content.messageId)
    yield event.type === 'assistant_msg' && withheld.has(event.content.messageId) ? emptied(event) : event
  }
}

/** Keeps that there was a message, and its usage. */
export function emptied(event: EventOf<'assistant_msg'>): EventOf<'assistant_msg'> {
  const { object: _, ...content } = event.content
  return { ...event, content: { ...content, parts: [] } }
}

/** A part without an address that a page must not open: a log may be older than the rule that refuses such, or written by another program. */
export function safePart<Part extends UserPart | AssistantPart | ViewPart>(part: Part): Part {
  if (part.type === 'source') {
    const source = withWebUrl(part.source)
    return source === part.source ? part : { ...part, source }
  }
  if (part.type !== 'file' || typeof part.data !== 'string' || isFileUrl(part.data)) return part
  return { ...part, data: 'about:blank' }
}
