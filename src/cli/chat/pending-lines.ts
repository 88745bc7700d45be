import { findCall } from '../../log/state.ts'
import type { PendingItem, View } from '../../view/view.ts'
import { excerpt } from '../transcript/excerpt.ts'
import { type Line, line, styled } from './line.ts'

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
