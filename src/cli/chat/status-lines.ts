import type { Json } from '../../base/json.ts'
import { callPhase } from '../../log/call-phase.ts'
import { childCalls } from '../../log/child-call.ts'
import type { SuspensionKind } from '../../log/events.ts'
import { type CallState, findCall, openTurn, type Round } from '../../log/state.ts'
import type { PendingItem, View, ViewCall } from '../../view/view.ts'
import { excerpt } from '../transcript/message-lines.ts'
import { type Line, line, styled } from './line.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** What goes on now: calls that run with their progress, what is queued. `tick` turns the wheel. */
export function statusLines(view: View, tick: number): Line[] {
  const wheel = frames[tick % frames.length]!
  const lines: Line[] = []
  for (const call of openTurn(view.log)?.calls ?? []) {
    if (callPhase(call).type !== 'started') continue
    lines.push(
      line(styled('cyan', `  ${wheel} ${call.name} `), styled('dim', progressText(view.progress[call.callId]))),
    )
  }
  const waiting = new Set(view.children.waiting)
  for (const { callId } of childCalls(view.log)) {
    if (waiting.has(callId)) continue
    const name = findCall(view.log, callId)?.call.name ?? 'a child agent'
    lines.push(line(styled('cyan', `  ${wheel} ${name} `), styled('dim', 'a child agent is at work')))
  }
  if (lines.length === 0 && view.state === 'running' && view.drafts.length === 0) {
    lines.push(line(styled('cyan', `  ${wheel} `), styled('dim', 'the turn is running')))
  }
  if (view.state === 'terminating') lines.push(line(styled('yellow', `  ${wheel} cancelling`)))
  for (const message of view.messages) {
    if (message.role !== 'user' || !message.isQueued) continue
    const text = message.parts.map((part) => (part.type === 'text' ? part.text : '[file]')).join(' ')
    lines.push(line(styled('dim', `  queued: ${text}`)))
  }
  return lines
}

/** A bar where it counts (`{ done, total, text? }`), else what it says. */
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

const asked = {
  approval: 'needs approval',
  elicitation: 'asks',
  client_exec: 'waits for a client',
  recovery: 'was interrupted and asks what to do',
  sub_agent: 'waits for a child agent',
}

/** So much of the arguments is shown; who approves must see what. */
const mostArguments = 20_000

/** What is shown of a call that waits for somebody. */
export function pendingLines(item: PendingItem, view: View): Line[] {
  const until = item.expiresAt === null ? '' : `, until ${new Date(item.expiresAt).toLocaleTimeString()}`
  const prompt = typeof item.prompt === 'string' ? item.prompt : excerpt(item.prompt, false)
  // Rows of a prompt are marked, so that none of them can pass for a line of ours.
  const [first = '', ...more] = prompt.split(/\r?\n/)
  const lines = [line(styled('yellow', `  ? ${placeOf(item, view)} ${asked[item.kind]}${until}: `), first)]
  for (const row of more) lines.push(line(styled('yellow', '    │ '), row))
  if (item.kind !== 'elicitation') {
    const isShort = JSON.stringify(item.args).length <= mostArguments
    lines.push(line(styled('dim', `    arguments: ${excerpt(item.args, isShort)}`)))
  }
  return lines
}

/** The tool, and above it the tools of the child agents it is in. */
function placeOf(item: PendingItem, view: View): string {
  if (item.path.length < 2) return item.tool
  const above = item.path.slice(0, -1).map(({ callId }) => findCall(view.log, callId)?.call.name ?? 'a child agent')
  return [...above, item.tool].join(' › ')
}

export function callLine({ name, args, executor }: Pick<ViewCall, 'name' | 'args' | 'executor'>): Line {
  const by = {
    server: '',
    human: ' (a question)',
    client: ' (a tool of the client)',
    agent: ' (a child agent)',
    provider: '',
  }
  return line('  ▸ ', styled('bold', name), styled('dim', `${by[executor]} ${excerpt(args, false)}`))
}

/** Who answered, and what. Null for what a child agent answers: its result says it. */
export function resolutionLine(kind: SuspensionKind, resolution: NonNullable<Round['resolution']>): Line | null {
  const { status, value, who, edited } = resolution
  if (kind === 'sub_agent') return null
  if (status === 'expired') return line(styled('yellow', '    expired: nobody answered in time'))
  if (status === 'cancelled') return line(styled('yellow', '    cancelled before anybody answered'))
  if (status === 'denied' || (kind === 'approval' && value === false)) {
    return line(styled('red', `    denied by ${who}${reasonOf(value)}`))
  }
  if (kind === 'approval') {
    const changed = edited ? ` with changed arguments: ${excerpt(edited.after, false)}` : ''
    return line(styled('green', `    approved by ${who}${changed}`))
  }
  return line(styled('green', `    answered by ${who}: ${excerpt(value, false)}`))
}

/** How it ended, unless the answer of a person has told it. */
export function callEndLines({ name, end }: ViewCall, call: CallState): Line[] {
  if (!end) return []
  const answer = call.rounds.at(-1)?.resolution
  const isTold = !call.result && answer && (answer.status !== 'resolved' || call.executor === 'human')
  if (isTold) return []
  if (end.ok) return [line(styled('green', '  ✓ '), `${name} `, styled('dim', excerpt(end.result, false)))]
  if (end.outcome === 'unknown') return [line(styled('yellow', `  ? ${name}: ${end.error}`))]
  return [line(styled('red', `  ✗ ${name}: ${end.error}`))]
}

function reasonOf(value: Json): string {
  const reason: Json | undefined = typeof value === 'string' ? value : (value as { reason?: Json } | null)?.reason
  return typeof reason === 'string' && reason !== '' ? `: ${reason}` : ''
}

/** What a typed line asks for. */
type Command =
  | { readonly name: 'send' | 'steer' | 'unknown'; readonly text: string }
  | { readonly name: 'help'; readonly lines: readonly Line[] }
  | { readonly name: 'pending' | 'cancel' | 'quit' }

/** A line that begins with a slash is a command; two slashes send one. */
export function readCommand(typed: string): Command {
  if (!typed.startsWith('/')) return { name: 'send', text: typed }
  if (typed.startsWith('//')) return { name: 'send', text: typed.slice(1) }
  const [word = '', ...rest] = typed.slice(1).split(/\s+/)
  const text = rest.join(' ')
  switch (word) {
    case 'steer':
      return text === '' ? { name: 'unknown', text: '/steer has no message' } : { name: 'steer', text }
    case 'pending':
    case 'cancel':
    case 'quit':
      return { name: word }
    case 'exit':
      return { name: 'quit' }
    case 'help':
      return { name: 'help', lines: help }
    default:
      return { name: 'unknown', text: `there is no command /${word}` }
  }
}

const help: readonly Line[] = [
  ['/pending', 'ask again about everything that waits for an answer'],
  ['/steer <message>', 'hand a message to the turn that runs; other messages wait for its end'],
  ['/cancel', 'end the turn that runs (or Ctrl-C)'],
  ['/quit', 'leave (or Ctrl-D, or Ctrl-C twice); everything stays in the log'],
].map(([name = '', what = '']) => line(styled('bold', `  ${name.padEnd(18)}`), styled('dim', what)))
