import { SchemaTooComplexError } from '../base/errors/definition-errors.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { JsonObject } from '../base/json.ts'
import { checkOutsideSchema } from '../base/json-schema/check-value.ts'
import { MalformedSchema } from '../base/json-schema/read-keyword.ts'
import { TooComplex } from '../base/json-schema/step-budget.ts'
import { isSchema, type Schema } from './schema.ts'
import { toJsonSchema } from './to-json-schema.ts'

/**
 * The schema that a message brings along, as it goes into the log. It is checked from there, by whichever process has the turn, like any schema from outside;
 * so what that would refuse is refused now. Throws `InvalidArgumentError` or `SchemaTooComplexError`.
 */
export function turnSchema(output: Schema): JsonObject {
  if (!isSchema(output)) throw new InvalidArgumentError('output', 'must be a Standard Schema or a JSON Schema')
  const schema = toJsonSchema(output)
  try {
    checkOutsideSchema(schema)
    return schema
  } catch (error) {
    if (error instanceof TooComplex) throw new SchemaTooComplexError("objects against 'output'", error.message)
    if (error instanceof MalformedSchema)
      throw new InvalidArgumentError('output', `is no JSON Schema: ${error.message}`)
    throw error
  }
}
