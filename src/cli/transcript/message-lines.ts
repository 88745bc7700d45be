import type { Json } from '../../base/json.ts'
import { childIdOf } from '../../log/child-call.ts'
import type { LogEvent, UserPart } from '../../log/events.ts'
import type { LeftOut, ViewCall, ViewMessage, ViewPart } from '../../view/view.ts'
import { ago, type Colours, type Printable, SafeText, safe, safely } from '../terminal/text.ts'

export type TranscriptStyle = {
  readonly colours: Colours
  /** Who the assistant's messages are from. */
  readonly agent: string
  /** Whether long arguments and results are shown whole. */
  readonly isFull: boolean
}

/** A message as people read it: who and when, then what. */
export function messageLines(message: ViewMessage, style: TranscriptStyle): SafeText[] {
  const { colours, agent } = style
  if (message.role === 'user') {
    const queued = message.isQueued ? ' (queued)' : ''
    const heading = safe`${colours.green(colours.bold(message.who))} ${colours.dim(`${ago(message.at)} #${message.seq}${queued}`)}`
    const parts = message.parts.flatMap((part) => indented(userPartText(part)))
    return [heading, ...parts, ...leftOutLines(message, colours)]
  }
  const withheld = message.withheld ? ` (withheld: not passed by the hook '${message.withheld.hook}')` : ''
  const ending = `${message.status === 'complete' ? '' : ` (${message.status})`}${withheld}`
  const heading = safe`${colours.cyan(colours.bold(agent))} ${colours.dim(`${ago(message.at)} #${message.seq}${ending}`)}`
  return [heading, ...message.parts.flatMap((part) => partLines(part, style)), ...leftOutLines(message, colours)]
}

function leftOutLines({ leftOut, seq }: ViewMessage, colours: Colours): SafeText[] {
  return leftOut ? indented(colours.dim(`about ${leftOut} bytes are left out here; event ${seq} has them`)) : []
}

function userPartText(part: UserPart): Printable {
  return part.type === 'text' ? part.text : fileText(part)
}

function partLines(part: ViewPart, style: TranscriptStyle): SafeText[] {
  const { colours, isFull } = style
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : indented(part.text)
    case 'reasoning':
      return part.text === '' ? [] : indented(colours.dim(`thinking: ${part.text}`))
    case 'file':
      return indented(fileText(part))
    case 'source':
      return indented(colours.dim(`source: ${excerpt(part.source, isFull)}`))
    case 'provider_call':
      return indented(
        safe`${colours.bold(part.name)} ${excerpt(part.args, isFull)} ${colours.dim('run by the provider')}`,
      )
    case 'provider_result':
      return indented(safe`${colours.dim(`${part.name} gave`)} ${excerpt(part.result, isFull)}`)
    case 'plain_call':
      return indented(safe`${colours.bold(part.name)} ${excerpt(part.args, isFull)} ${colours.dim('not run')}`)
    case 'call':
      return callLines(part, style)
  }
}

function fileText({ mediaType, filename, data }: Extract<UserPart, { type: 'file' }>): string {
  const where = typeof data === 'string' ? excerpt(data, false) : `${data.size} bytes`
  return `file ${filename ?? ''} (${mediaType}, ${where})`
}

/** A tool call: its arguments, how it stands, and what came of it. */
export function callLines(call: ViewCall, { colours, isFull }: { colours: Colours; isFull: boolean }): SafeText[] {
  const args = call.edited ? call.edited.after : call.args
  const heading = safe`${colours.bold(call.name)} ${excerpt(args, isFull)} ${statusOf(call, colours)}`
  const edited = call.edited
    ? [colours.dim(`a person changed the arguments; the model's: ${excerpt(call.edited.before, isFull)}`)]
    : []
  const child = call.executor === 'agent' ? [colours.dim(`child conversation ${childIdOf(call.callId)}`)] : []
  const end = call.end ? [call.end.ok ? excerpt(call.end.result, isFull) : colours.red(call.end.error)] : []
  const leftOut = call.leftOut ? [colours.dim(leftOutText(call.leftOut))] : []
  return [...indented(heading), ...[...edited, ...child, ...end, ...leftOut].flatMap((line) => indented(line, 4))]
}

export function leftOutText({ bytes, seqs }: LeftOut): string {
  return `about ${bytes} bytes are left out here; events ${seqs.join(', ')} have them`
}

function statusOf({ phase, end, executor }: ViewCall, colours: Colours): SafeText {
  if (end) {
    if (end.ok) return colours.green('done')
    return end.outcome
      ? colours.yellow(end.outcome === 'ran' ? 'ran, result lost' : 'outcome unknown')
      : colours.red('failed')
  }
  if (phase === 'pending') return colours.yellow(executor === 'agent' ? 'at work' : 'waits for an answer')
  return colours.dim(phase === 'running' ? 'running' : 'not started')
}

/** Each line, further to the right. */
export function indented(text: Printable, by = 2): SafeText[] {
  return safely(text)
    .split('\n')
    .map((line) => new SafeText(`${' '.repeat(by)}${line}`))
}

const most = 400

/** JSON on one line; of long values only the beginning, unless all of it is wanted. */
export function excerpt(value: Json, isFull: boolean): string {
  const text = JSON.stringify(value) ?? 'null'
  return isFull || text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`
}

/** What an event says, on one line. */
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
    case 'suspension':
      return event.content.kind
    case 'resolution':
      return `${event.content.status} by ${event.content.who}`
    case 'tool_result':
      return event.content.ok ? excerpt(event.content.result, false) : event.content.error
    case 'regeneration':
      return event.content.feedback
    case 'withheld':
      return `not passed by the hook '${event.content.hook}'`
    case 'cancel_requested':
      return `by ${event.content.who}`
    case 'turn_ended':
      return [event.content.status, event.content.reason].filter((each) => each !== null).join(': ')
    case 'titled':
      return event.content.title
    default:
      return excerpt(event.content, false)
  }
}

function partsText(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.map((part) => (part.type === 'text' ? (part.text ?? '') : `[${part.type}]`)).join(' ')
}
