import {
  InvalidRequestError,
  MediaTypeError,
  RequestTimedOutError,
  RequestTooLargeError,
} from '../../base/errors/server-errors.ts'
import type { Json } from '../../base/json.ts'
import { decode } from '../../log/codec.ts'
import type { Limits } from '../server-options.ts'

/** The JSON a request brings; an empty body is an empty object. */
export async function readBody(request: Request, limits: Limits): Promise<Json> {
  const { depth } = limits
  checkMediaType(request, 'application/json')
  const text = await readText(request, limits)
  if (text.trim() === '') return {}
  checkDepth(text, depth)
  try {
    return decode(text)
  } catch {
    throw new InvalidRequestError('body', 'it is not JSON')
  }
}

export function checkMediaType(request: Request, expected: keyof typeof mediaTypes): void {
  if (!mediaTypes[expected].test(request.headers.get('content-type') ?? '')) throw new MediaTypeError(expected)
}

const mediaTypes = {
  'application/json': /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i,
  'application/x-ndjson': /^application\/x-ndjson\s*(;\s*charset="?utf-8"?\s*)?$/i,
}

async function readText(request: Request, { bodyBytes: limit, bodyMs }: Limits): Promise<string> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw new RequestTooLargeError('body', limit)
  if (!request.body) return ''
  const bytes = await gathered(request.body.getReader(), limit, bodyMs)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new InvalidRequestError('body', 'it is not UTF-8')
  }
}

async function gathered(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: number,
  limitMs: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RequestTimedOutError(limitMs)), limitMs)
  })
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read().catch(brokeOff), late])
      if (done) return Buffer.concat(chunks)
      bytes += value.byteLength
      if (bytes > limit) {
        reader.cancel().catch(() => {})
        throw new RequestTooLargeError('body', limit)
      }
      chunks.push(value)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** What comes of a body whose client has gone: no failure of the server. */
export function brokeOff(): never {
  throw new InvalidRequestError('body', 'it broke off')
}

/** Before it is parsed: what walks over the value later may recurse. */
function checkDepth(text: string, limit: number): void {
  let depth = 0
  let isInString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (isInString) {
      if (code === backslash) index += 1
      else if (code === quote) isInString = false
    } else if (code === quote) isInString = true
    else if (code === openBracket || code === openBrace) {
      depth += 1
      if (depth > limit) throw new InvalidRequestError('body', `it is nested deeper than ${limit} levels`)
    } else if (code === closeBracket || code === closeBrace) depth -= 1
  }
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d]
