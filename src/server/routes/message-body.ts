import type { JsonObject } from '../../log/json.ts'
import type { InputPart, MessageInput } from '../../runtime/message-input.ts'
import { object, text } from '../schemas.ts'

const part: JsonObject = {
  oneOf: [
    object({ type: { const: 'text' }, text: { type: 'string' } }, ['type', 'text']),
    object(
      {
        type: { const: 'file' },
        mediaType: text,
        filename: text,
        data: { ...text, description: 'The URL of the file; a data: URL brings it along.' },
      },
      ['type', 'mediaType', 'data'],
    ),
  ],
}

export const messageSchema: JsonObject = {
  description: 'Text, or a list of parts.',
  anyOf: [text, { type: 'array', items: part, minItems: 1, maxItems: 100 }],
}

/** Files that come along in the body go into blobs, not into the log. */
export function readMessage(message: MessageInput): MessageInput {
  if (typeof message === 'string' || 'parts' in message) return message
  return message.map((given): InputPart => {
    if (given.type !== 'file' || typeof given.data !== 'string') return given
    const bytes = /^data:[^,]*;base64,(.*)$/s.exec(given.data)?.[1]
    return bytes === undefined ? given : { ...given, data: new Uint8Array(Buffer.from(bytes, 'base64')) }
  })
}
