import type { Json } from '../../base/json.ts'
import { childIdOf } from '../../log/child-call.ts'
import type { LogEvent, SuspensionKind, UserPart } from '../../log/events.ts'
import { cutShortText, type NoteItem, type Round } from '../../log/state.ts'
import type { LeftOut, ViewCall, ViewMessage, ViewPart } from '../../view/view.ts'
import { ago, type Colours, type Printable, SafeText, safe, safely } from '../terminal/text.ts'

export type LineStyle = {
  readonly colours: Colours
  /** Whether long values are shown whole. */
  readonly isFull: boolean
}

/** A message under a heading with its author, age and seq. */
export function messageLines(message: ViewMessage, style: LineStyle & { readonly agent: string }): SafeText[] {
  const { colours, agent } = style
  const { dim } = colours
  const missing = message.leftOut
    ? [dim(`  about ${message.leftOut} bytes are left out here; event ${message.seq} has them`)]
    : []
  if (message.role === 'user') {
    const heading = `${ago(message.at)} #${message.seq}${message.isQueued ? ' (queued)' : ''}`
    const name = colours.green(colours.bold(message.who))
    return [safe`${name} ${dim(heading)}`, ...indented(userText(message.parts)), ...missing]
  }
  const status = message.status === 'complete' ? endingOf(message.finishReason) : ` (${message.status})`
  const withheld = message.withheld ? ` (${withheldText(message.withheld)})` : ''
  const heading = `${ago(message.at)} #${message.seq}${status}${withheld}`
  const parts = message.parts.flatMap((part) => partLines(part, style))
  return [safe`${colours.cyan(colours.bold(agent))} ${dim(heading)}`, ...parts, ...missing]
}

function endingOf(finishReason: string): string {
  const cutShort = cutShortText(finishReason)
  return cutShort === null ? '' : ` (${cutShort})`
}

/** A note of the application, on one line. */
export function noteLine({ name, data, who, at, seq }: NoteItem, { colours, isFull }: LineStyle): SafeText {
  return colours.dim(`note ${name} ${excerpt(data, isFull)} by ${who} ${ago(at)} #${seq}`)
}

export function withheldText({ hook }: { readonly hook: string }): string {
  return `withheld: the hook '${hook}' did not pass it`
}

export function userText(parts: readonly UserPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : fileText(part))).join('\n')
}

function partLines(part: ViewPart, style: LineStyle): SafeText[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : indented(part.text)
    case 'reasoning':
      return part.text === '' ? [] : indented(style.colours.dim(`thinks: ${part.text}`))
    case 'call':
      return [callLine(part, style), ...callNotes(part, style), ...callEndLines(part, style)]
    default:
      return [otherLine(part, style)]
  }
}

type OtherPart = Exclude<ViewPart, { type: 'text' | 'reasoning' | 'call' }>

/** A part that is neither text nor a call of this runtime. */
export function otherLine(part: OtherPart, { colours, isFull }: LineStyle): SafeText {
  const { bold, dim } = colours
  if (part.type === 'file') return dim(`  ▸ ${fileText(part)}`)
  if (part.type === 'source') return dim(`  ▸ source: ${excerpt(part.source, isFull)}`)
  if (part.type === 'provider_result') return safe`  ✓ ${part.name} ${dim(excerpt(part.result, isFull))}`
  const note = part.type === 'plain_call' ? 'not run' : 'run by the provider'
  return safe`  ▸ ${bold(part.name)} ${dim(`${excerpt(part.args, isFull)} (${note})`)}`
}

function fileText({ mediaType, filename, data }: Extract<UserPart, { type: 'file' }>): string {
  const where = typeof data === 'string' ? excerpt(data, false) : `${data.size} bytes`
  return `file ${filename ?? ''} (${mediaType}, ${where})`
}

const executors: Readonly<Record<ViewCall['executor'], string>> = {
  server: '',
  human: ' (a question)',
  client: ' (a tool of the client)',
  agent: ' (a child agent)',
  provider: '',
}

/** A call with the arguments that the model gave. */
export function callLine(
  { name, args, executor }: Pick<ViewCall, 'name' | 'args' | 'executor'>,
  { colours, isFull }: LineStyle,
): SafeText {
  return safe`  ▸ ${colours.bold(name)}${colours.dim(`${executors[executor]} ${excerpt(args, isFull)}`)}`
}

function callNotes(call: ViewCall, { colours, isFull }: LineStyle): SafeText[] {
  const notes = [
    ...(call.edited ? [`a person changed the arguments to ${excerpt(call.edited.after, isFull)}`] : []),
    ...(call.executor === 'agent' ? [`child conversation ${childIdOf(call.callId)}`] : []),
    ...(call.leftOut ? [leftOutText(call.leftOut)] : []),
  ].map((note) => colours.dim(`    ${note}`))
  return call.end ? notes : [...notes, safe`    ${statusOf(call, colours)}`]
}

function statusOf({ phase, executor }: ViewCall, { yellow, dim }: Colours): SafeText {
  if (phase === 'waiting') return yellow(executor === 'agent' ? 'at work' : 'waits for an answer')
  return dim(phase === 'running' ? 'running' : 'not started')
}

/** The result of a call, or its error. */
export function callEndLines({ name, end }: ViewCall, { colours, isFull }: LineStyle): SafeText[] {
  if (!end) return []
  if (end.ok) return [safe`  ${colours.green('✓')} ${name} ${colours.dim(excerpt(end.result, isFull))}`]
  // An outcome: the tool may have run, and its result is lost.
  return [end.outcome ? colours.yellow(`  ? ${name}: ${end.error}`) : colours.red(`  ✗ ${name}: ${end.error}`)]
}

/** Who answered a call, and what. Null for a child agent: its result says it. */
export function resolutionLine(
  kind: SuspensionKind,
  { status, value, who, edited }: Pick<NonNullable<Round['resolution']>, 'status' | 'value' | 'who' | 'edited'>,
  { colours, isFull }: LineStyle,
): SafeText | null {
  const { green, yellow, red } = colours
  if (kind === 'sub_agent') return null
  if (status === 'expired') return yellow('    expired: no answer came in time')
  if (status === 'cancelled') return yellow('    cancelled before an answer came')
  if (status === 'denied' || (kind === 'approval' && value === false)) {
    return red(`    denied by ${who}${reasonOf(value)}`)
  }
  if (kind !== 'approval') return green(`    answered by ${who}: ${excerpt(value, isFull)}`)
  const changed = edited ? ` with changed arguments: ${excerpt(edited.after, isFull)}` : ''
  return green(`    approved by ${who}${changed}`)
}

function reasonOf(value: Json): string {
  const reason: Json | undefined = typeof value === 'string' ? value : (value as { reason?: Json } | null)?.reason
  return typeof reason === 'string' && reason !== '' ? `: ${reason}` : ''
}

export function leftOutText({ bytes, seqs }: LeftOut): string {
  return `about ${bytes} bytes are left out here; events ${seqs.join(', ')} have them`
}

function indented(text: Printable): SafeText[] {
  return safely(text)
    .split('\n')
    .map((line) => new SafeText(`  ${line}`))
}

const mostCharacters = 400

/** JSON on one line. A long value is cut unless `isFull`. */
export function excerpt(value: Json, isFull: boolean): string {
  const text = JSON.stringify(value) ?? 'null'
  return isFull || text.length <= mostCharacters
    ? text
    : `${text.slice(0, mostCharacters)}… (${text.length} characters)`
}

/** An event on one line. */
export function eventText(event: LogEvent): string {
  switch (event.type) {
    case 'user_msg':
      return partsText(event.content.message.parts)
    case 'assistant_msg':
    case 'injection':
      return partsText(event.content.parts)
    case 'tool_call':
      return `${event.content.name} ${excerpt(event.content.args, false)}`
    case 'tool_started':
      return event.content.attempt > 1 ? `attempt ${event.content.attempt}` : ''
    case 'tool_asked':
      return `round ${event.content.round}`
    case 'suspension':
      return event.content.kind
    case 'resolution':
      return `${event.content.status} by ${event.content.who}`
    case 'tool_result':
      return event.content.ok ? excerpt(event.content.result, false) : event.content.error
    case 'regeneration':
      return event.content.feedback
    case 'deadline_moved': {
      const { expiresInMs, who } = event.content
      return `${expiresInMs === null ? 'never' : `in ${expiresInMs} ms`} by ${who}`
    }
    case 'note':
      return `${event.content.name} ${excerpt(event.content.data, false)}`
    case 'withheld':
      return `the hook '${event.content.hook}' did not pass it`
    case 'attempt_discarded':
      return `${event.content.model.modelId} broke off (${event.content.code}); tried again`
    case 'halted_by':
      return event.content.reason
    case 'scope_missing':
      return `the scope of ${event.content.who} cannot be restored: ${event.content.reason}`
    case 'cancel_requested':
      return `by ${event.content.who}`
    case 'superseded':
      return `the turns from ${event.content.fromSeq} on, by ${event.content.by}`
    case 'turn_ended':
      return [event.content.status, event.content.reason].filter((each) => each !== null).join(': ')
    case 'titled':
      return event.content.title ?? 'the title was removed'
    default:
      return excerpt(event.content, false)
  }
}

function partsText(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.map((part) => (part.type === 'text' ? (part.text ?? '') : `[${part.type}]`)).join(' ')
}
