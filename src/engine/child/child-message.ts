import type { Json } from '../../base/json.ts'
import { encode } from '../../log/codec.ts'
import type { UserMessage } from '../../log/events.ts'

/** What a child agent is told: the one text of its arguments where that is all there is, else the arguments as JSON. */
export function childMessage(args: Json): UserMessage {
  return { parts: [{ type: 'text', text: textOf(args) }] }
}

function textOf(args: Json): string {
  if (typeof args === 'string' && args.trim() !== '') return args
  const values = typeof args === 'object' && args !== null ? Object.values(args) : []
  const [only] = values
  return values.length === 1 && typeof only === 'string' && only.trim() !== '' ? only : encode(args)
}
