import type { Json } from '../../base/json.ts'
import { type ClientMessage, type ClientPart, type ClientToolPart, toolPart } from './client-message.ts'
import type { CallStage, UiCall, UiPart, UiStep, UiTurn } from './ui-turn.ts'

/**
 * What a page that goes on with a message shows of its turn, so that it can be sent the rest. The page's own claims about calls are in it, to be
 * put right. Null when it shows something that cannot be put right: it must begin anew.
 */
export function heldTurn({ parts }: ClientMessage, truth: UiTurn): UiTurn | null {
  const held = splitSteps(parts).slice(truth.stepsBefore)
  const steps = held.map((step, index) => heldStep(step, truth.steps[index], index === held.length - 1))
  if (steps.some((step) => step === null)) return null
  return { ...truth, steps: steps as UiStep[], progress: {}, elsewhere: [] }
}

function splitSteps(parts: readonly ClientPart[]): ClientPart[][] {
  const steps: ClientPart[][] = []
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([])
    else steps.at(-1)?.push(part)
  }
  return steps
}

/** What is missing can be added to the last step, and to no other. */
function heldStep(held: readonly ClientPart[], truth: UiStep | undefined, isLast: boolean): UiStep | null {
  if (!truth) return null
  const left = [...held]
  const parts: UiPart[] = []
  for (const part of truth.parts) {
    const found = left.findIndex((candidate) => isSame(candidate, part, truth.isAbridged))
    if (found < 0 && !isLast && part.kind !== 'question') return null
    if (found < 0) continue
    const kept = heldPart(left.splice(found, 1)[0]!, part)
    if (!kept) return null
    parts.push(kept)
  }
  const isForeign = ({ type, text }: ClientPart) => (type === 'text' && text !== '') || type.startsWith('tool-')
  return left.some(isForeign) && !truth.isAbridged ? null : { ...truth, parts }
}

function isSame(held: ClientPart, { kind, key, ...part }: UiPart, isAbridged = false): boolean {
  switch (kind) {
    case 'text': {
      const { text } = part as { text: string }
      const isBeginning = isAbridged && String(held['text']).startsWith(text.slice(0, -1))
      return held.type === 'text' && (held['text'] === text || isBeginning)
    }
    case 'reasoning':
      return held.type === 'reasoning'
    case 'call':
      return toolPart(held)?.toolCallId === key
    case 'thing':
      return held.type === (part as { chunk: { type: string } }).chunk.type
    case 'question':
      return held.type === 'data-question' && held['id'] === key
  }
}

function heldPart(held: ClientPart, part: UiPart): UiPart | null {
  // What is still being written cannot go on in another stream.
  if (part.kind === 'text' || part.kind === 'reasoning') return part.isDone ? part : null
  if (part.kind === 'question') return { ...part, data: { ...part.data, status: statusOf(held) } }
  return part.kind === 'call' ? claimed(toolPart(held)!, part) : part
}

function statusOf(held: ClientPart): 'open' | 'resolved' {
  return (Object(held['data']) as { status?: unknown }).status === 'open' ? 'open' : 'resolved'
}

function claimed(held: ClientToolPart, call: UiCall): UiCall | null {
  const stage = claimedStage(held, call)
  const input = held['input'] ?? null
  return stage && { ...call, stage, approval: held.approval, input }
}

function claimedStage({ state, output, errorText }: ClientToolPart, { stage, isForPage }: UiCall): CallStage | null {
  switch (state) {
    case 'input-available':
      return { type: stage.type === 'awaited' ? 'awaited' : 'ready' }
    case 'approval-responded':
      return { type: isForPage ? 'held' : 'ready' }
    case 'approval-requested':
      return { type: 'asked' }
    case 'output-denied':
      return { type: 'denied' }
    case 'output-available':
      return { type: 'output', output: (output ?? null) as Json }
    case 'output-error':
      return { type: 'error', errorText: typeof errorText === 'string' ? errorText : '' }
    default:
      return null
  }
}
