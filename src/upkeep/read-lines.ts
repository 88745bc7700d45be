import { ImportInvalidError } from '../base/errors/upkeep-errors.ts'

export type Line = { readonly number: number; readonly text: string }

const newline = 0x0a
/** Far more than any row is; without it, input that is no text would be gathered for ever. */
const longestLine = 256 * 1024 * 1024

/** The lines of a stream of bytes, with their newline, which only a cut-off one lacks. Refuses what is not UTF-8. */
export async function* readLines(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<Line> {
  let number = 0
  let rest: Uint8Array[] = []
  let length = 0
  const take = (last: Uint8Array): Line => {
    number += 1
    const bytes = rest.length === 0 ? last : Buffer.concat([...rest, last])
    rest = []
    length = 0
    return { number, text: decoded(bytes, number) }
  }
  for await (const chunk of chunks) {
    let bytes: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline)) {
      yield take(bytes.subarray(0, end + 1))
      bytes = bytes.subarray(end + 1)
    }
    if (bytes.byteLength === 0) continue
    // A copy: whoever gave the chunk may use its memory again.
    rest.push(Uint8Array.from(bytes))
    length += bytes.byteLength
    if (length > longestLine) throw new ImportInvalidError(number + 1, `it is longer than ${longestLine} bytes`)
  }
  if (rest.length > 0) yield take(new Uint8Array(0))
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decoded(bytes: Uint8Array, number: number): string {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    throw new ImportInvalidError(number, 'it is not UTF-8', { cause: error })
  }
}
