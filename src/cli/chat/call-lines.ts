import type { Json } from '../../base/json.ts'
import type { SuspensionKind } from '../../log/events.ts'
import type { CallState, Round } from '../../log/state.ts'
import type { ViewCall } from '../../view/view.ts'
import { excerpt } from '../transcript/excerpt.ts'
import { type Line, line, styled } from './line.ts'

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
