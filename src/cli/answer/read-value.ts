import { text as readAll } from 'node:stream/consumers'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import type { Json } from '../../base/json.ts'

/** A value of the command line: JSON; plain text where a text is asked for; `-` reads it from stdin. */
export async function readValue(name: string, given: string, schema: Json = null): Promise<Json> {
  const text = given === '-' ? (await readAll(process.stdin)).trim() : given
  const asksForText = typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === 'string'
  if (asksForText && !text.startsWith('"')) return text
  try {
    return JSON.parse(text) as Json
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandLineError(`${name} is not JSON: ${why.replace(/[.\s]+$/, '')}`)
  }
}
