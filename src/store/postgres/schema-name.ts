import { InvalidArgumentError } from '../../base/errors/store-errors.ts'

/** Short enough that the channel named after it is a valid name too. */
const pattern = /^[A-Za-z_][A-Za-z0-9_]{0,47}$/

/** The name becomes part of every statement, so only what needs no escaping is let in. */
export function checkSchemaName(schema: unknown): asserts schema is string {
  if (typeof schema !== 'string' || !pattern.test(schema) || schema.toLowerCase().startsWith('pg_')) {
    throw new InvalidArgumentError(
      'schema',
      `must be 1 to 48 letters, digits and underscores, not begin with a digit or 'pg_'; it is '${String(schema)}'`,
    )
  }
}

export function quoteSchema(schema: string): string {
  checkSchemaName(schema)
  return `"${schema}"`
}
