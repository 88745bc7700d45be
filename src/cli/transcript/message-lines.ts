import type { UserPart } from '../../log/events.ts'
import type { ViewMessage, ViewPart } from '../../view/view.ts'
import type { Colours } from '../terminal/colours.ts'
import { type Printable, type SafeText, safe } from '../terminal/safe-text.ts'
import { ago } from '../terminal/time.ts'
import { callLines } from './call-lines.ts'
import { excerpt } from './excerpt.ts'
import { indented } from './indented.ts'

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
