import type { JsonObject } from '../../base/json.ts'
import { object, text } from '../schemas.ts'

const part: JsonObject = {
  oneOf: [
    object({ type: { const: 'text' }, text: { type: 'string' } }, ['type', 'text']),
    object(
      {
        type: { const: 'file' },
        mediaType: text,
        filename: text,
        data: { ...text, description: 'The URL of the file, with http or https; a data: URL brings it along.' },
      },
      ['type', 'mediaType', 'data'],
    ),
  ],
}

export const messageSchema: JsonObject = {
  description: 'Text, or a list of parts.',
  anyOf: [text, { type: 'array', items: part, minItems: 1, maxItems: 100 }],
}
