import type { Json } from '../../base/json.ts'
import { callPhase } from '../../log/call-phase.ts'
import { childCalls } from '../../log/child-call.ts'
import { findCall, openTurn } from '../../log/state.ts'
import type { View } from '../../view/view.ts'
import { excerpt } from '../transcript/excerpt.ts'
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
