import { Bot, Clock, Dices, Hand, type LucideIcon, Send, SquareFunction } from 'lucide-react'
import type { Json, JsonObject } from 'perdure/client'
import { oneLine } from '../parts/shown-text.ts'
import { duration } from '../parts/time.tsx'
import type { FlowOp, Step } from './session-steps.ts'

/** `going`: the colour of its bar until it ends. */
type Look = { readonly Icon: LucideIcon; readonly kind: string; readonly going: string }

export const looks: Readonly<Record<FlowOp['kind'], Look>> = {
  suspend: { Icon: Hand, kind: 'asks', going: 'bg-waiting' },
  request: { Icon: Send, kind: 'requests', going: 'bg-waiting' },
  step: { Icon: SquareFunction, kind: 'step', going: 'bg-running' },
  sleep: { Icon: Clock, kind: 'sleeps', going: 'bg-session' },
  agent: { Icon: Bot, kind: 'agent', going: 'bg-running' },
  now: { Icon: Dices, kind: 'value', going: 'bg-faint' },
  random: { Icon: Dices, kind: 'value', going: 'bg-faint' },
  uuid: { Icon: Dices, kind: 'value', going: 'bg-faint' },
}

/** What a step does, in one line. */
export function stepWords(op: FlowOp): string {
  switch (op.kind) {
    case 'suspend':
      return `Asks: ${oneLine(tagWords(op.tag), 120)}`
    case 'request':
      return `Requests: ${oneLine(op.request, 120)}`
    case 'step':
      return oneLine(op.name, 120)
    case 'sleep':
      return `Sleeps ${op.ms < 1_000 ? `${op.ms} ms` : duration(op.ms)}`
    case 'agent':
      return `Asks agent ${oneLine(op.agent, 80)}`
    case 'now':
      return 'Reads the time'
    case 'random':
      return 'Draws a number'
    case 'uuid':
      return 'Makes an id'
  }
}

/** What is asked. Tags are data of the flow: most say it as text, in a member of such a name or in their first one. */
export function tagWords(tag: unknown): string {
  if (typeof tag === 'string') return tag
  const told = toldIn(tag)
  return told === null ? JSON.stringify(tag) : String((tag as Record<string, unknown>)[told])
}

/** The rest of what is asked: all but the member that `tagWords` tells. Null where there is no more. */
export function tagDetails(tag: Json): Json | null {
  const told = toldIn(tag)
  if (told === null) return typeof tag === 'object' ? tag : null
  const rest = Object.entries(tag as JsonObject).filter(([name]) => name !== told)
  return rest.length > 0 ? Object.fromEntries(rest) : null
}

/** The member of a tag that says what is asked. */
function toldIn(tag: unknown): string | null {
  if (typeof tag !== 'object' || tag === null) return null
  const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
  const members = tag as Record<string, unknown>
  const named = ['question', 'title', 'ask', 'prompt', 'text', 'payload'].find((name) => isText(members[name]))
  return named ?? Object.keys(members).find((name) => isText(members[name])) ?? null
}

/** How a step stands, in the words of `Status`. */
export function stepStatus(step: Step): string {
  if (step.isAbandoned) return 'cancelled'
  if (step.outcome) return step.outcome.ok ? 'completed' : 'failed'
  if (step.op.kind === 'sleep') return 'sleeping'
  return step.op.kind === 'suspend' || step.op.kind === 'request' ? 'waiting' : 'running'
}

/** As in `340 ms` or `1.2 s`; longer ones as elsewhere. */
export function stepLength(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : duration(ms)
}
