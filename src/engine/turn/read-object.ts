import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../base/json.ts'
import { type Validation, validate, validateOutside } from '../../define/validate.ts'
import type { AssistantPart } from '../../log/events.ts'
import type { Verdict } from '../../log/settle.ts'
import type { TurnState } from '../../log/state.ts'

/**
 * The object a message with structured output consists of, checked against the schema the turn was opened with. That is in the log, and no log says whose
 * it was: it is the agent's where it equals `own`, which this process has in its code, and from outside everywhere else.
 */
export async function readObject(
  schema: JsonObject,
  own: JsonObject | null,
  parts: readonly AssistantPart[],
): Promise<Validation<Json>> {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return { ok: false, issues: 'it is not JSON' }
  }
  return own !== null && isDeepStrictEqual(schema, own) ? validate(own, value) : validateOutside(schema, value)
}

type Refused = Extract<Validation<Json>, { ok: false }>

const prefix = 'Your answer does not fit the schema: '

/** An object that does not fit is asked for once more, with the reason; then the turn fails. One that cannot be judged fails it at once. */
export function objectVerdict(turn: TurnState, { issues, isTooComplex }: Refused): Verdict {
  if (isTooComplex) return { type: 'fail', reason: 'schema_too_complex' }
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
