import type { Json } from '../../base/json.ts'
import { callPhase } from '../../log/call-phase.ts'
import { childCalls } from '../../log/child-call.ts'
import { findCall, openTurn } from '../../log/state.ts'
import type { View } from '../../view/view.ts'
import { type Colours, type SafeText, safe } from '../terminal/text.ts'
import { excerpt, userText } from '../transcript/view-lines.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** What happens now: running calls with their progress, and queued messages. `tick` turns the wheel. */
export function statusLines(view: View, tick: number, { cyan, dim, yellow }: Colours): SafeText[] {
  const wheel = frames[tick % frames.length]!
  const running = (name: string, what: string) => safe`${cyan(`  ${wheel} ${name}`)}${dim(what)}`
  const lines: SafeText[] = []
  for (const call of openTurn(view.log)?.calls ?? []) {
    if (callPhase(call).type === 'started')
      lines.push(running(`${call.name} `, progressText(view.progress[call.callId])))
  }
  const waiting = new Set(view.children.waiting)
  for (const { callId } of childCalls(view.log)) {
    if (waiting.has(callId)) continue
    const name = findCall(view.log, callId)?.call.name ?? 'a child agent'
    lines.push(running(`${name} `, 'a child agent is at work'))
  }
  if (lines.length === 0 && view.phase === 'running' && view.drafts.length === 0)
    lines.push(running('', 'the turn is running'))
  if (view.phase === 'terminating') lines.push(yellow(`  ${wheel} cancelling`))
  for (const message of view.messages) {
    if (message.role === 'user' && message.isQueued) lines.push(dim(`  queued: ${userText(message.parts)}`))
  }
  return lines
}

/** A bar for progress of the form `{ done, total, text? }`, else the value itself. */
function progressText(progress: Json | undefined): string {
  if (progress === undefined) return 'is running'
  if (typeof progress === 'string') return progress
  if (typeof progress !== 'object' || progress === null || Array.isArray(progress)) return excerpt(progress, false)
  const { done, total, text } = progress as { done?: Json; total?: Json; text?: Json }
  if (typeof done !== 'number' || typeof total !== 'number' || !(total > 0)) return excerpt(progress, false)
  const part = Math.min(1, Math.max(0, done / total))
  const full = Math.round(part * 20)
  return `${'█'.repeat(full)}${'░'.repeat(20 - full)} ${Math.round(part * 100)} %${typeof text === 'string' ? ` ${text}` : ''}`
}

/** What a typed line means. */
type Command =
  | { readonly name: 'send' | 'steer' | 'unknown'; readonly text: string }
  | { readonly name: 'help' | 'pending' | 'cancel' | 'quit' }

/** A line that begins with a slash is a command; two slashes send one. */
export function readCommand(typed: string): Command {
  if (!typed.startsWith('/')) return { name: 'send', text: typed }
  if (typed.startsWith('//')) return { name: 'send', text: typed.slice(1) }
  const [word = '', ...rest] = typed.slice(1).split(/\s+/)
  const text = rest.join(' ')
  switch (word) {
    case 'steer':
      return text === '' ? { name: 'unknown', text: '/steer has no message' } : { name: 'steer', text }
    case 'help':
    case 'pending':
    case 'cancel':
    case 'quit':
      return { name: word }
    case 'exit':
      return { name: 'quit' }
    default:
      return { name: 'unknown', text: `there is no command /${word}` }
  }
}

const commands = [
  ['/pending', 'ask again about every call that waits for an answer'],
  ['/steer <message>', 'give a message to the running turn; other messages wait for its end'],
  ['/cancel', 'end the turn (or Ctrl-C while it runs)'],
  ['/quit', 'leave (or Ctrl-D, or Ctrl-C twice); everything stays in the log'],
] as const

export function helpLines({ bold, dim }: Colours): SafeText[] {
  return commands.map(([name, what]) => safe`${bold(`  ${name.padEnd(18)}`)}${dim(what)}`)
}
