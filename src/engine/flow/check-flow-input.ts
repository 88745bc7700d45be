import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import type { Json } from '../../base/json.ts'
import type { Flow } from '../../define/define-flow.ts'
import { normaliseValue } from '../../define/normalise-result.ts'
import { validate } from '../../define/validate.ts'

/** The input as it is recorded: what the flow's schema makes of it. Throws `InvalidArgumentError`. */
export async function checkFlowInput(flow: Flow, input: unknown): Promise<Json> {
  const given = recorded(input)
  if (!flow.input) return given
  const checked = await validate(flow.input, given)
  if (!checked.ok) throw new InvalidArgumentError('input', `does not fit the flow '${flow.name}': ${checked.issues}`)
  return recorded(checked.value)
}

function recorded(value: unknown): Json {
  const normalised = normaliseValue(value)
  if (!normalised.ok) throw new InvalidArgumentError('input', `cannot be recorded: ${normalised.problem}`)
  return normalised.value
}
