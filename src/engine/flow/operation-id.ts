import { createHash } from 'node:crypto'

/** What fits into an id beside the numbers. */
const maxSessionBytes = 200

/** The id of what an operation does outside: as idempotency key, as conversation id, as key of a message. */
export function operationId(session: string, generation: number, position: number): string {
  const isLong = Buffer.byteLength(session) > maxSessionBytes
  const name = isLong ? createHash('sha256').update(session).digest('hex') : session
  return `${name}/${generation}/${position}`
}
