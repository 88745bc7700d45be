import type { AssistantPart } from '../log/events.ts'
import type { Json, JsonObject } from '../log/json.ts'
import type { Verdict } from '../log/settle.ts'
import type { TurnState } from '../log/state.ts'
import { validate } from '../tool/validate.ts'

/** The object a message with structured output consists of, checked against the schema the turn was opened with. */
export async function readObject(
  schema: JsonObject,
  parts: readonly AssistantPart[],
): Promise<{ ok: true; value: Json } | { ok: false; issues: string }> {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return { ok: false, issues: 'it is not JSON' }
  }
  const checked = await validate(schema, value)
  return checked.ok ? { ok: true, value } : { ok: false, issues: checked.issues }
}

const prefix = 'Your answer does not fit the schema: '

/** Asked for once more with the reason; then the turn fails. */
export function invalidObject(turn: TurnState, issues: string): Verdict {
  const wasAsked = turn.items.some(
    (item) => item.type === 'assistant' && item.regeneration?.feedback.startsWith(prefix),
  )
  if (wasAsked) return { type: 'fail', reason: 'invalid_object' }
  return {
    type: 'regenerate',
    n: regenerations(turn) + 1,
    feedback: `${prefix}${issues}. Answer with the object only.`,
  }
}

export function regenerations(turn: TurnState): number {
  return turn.items.filter((item) => item.type === 'assistant' && item.regeneration).length
}
