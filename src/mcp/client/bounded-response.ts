/** The most of one message: what is read of it takes many times its length. */
export const maxMessageBytes = 4 * 1024 * 1024
/** The most of one stream, which may have many messages. */
const maxStreamBytes = 16 * 1024 * 1024

/** The same response, which breaks off when it is too long. Pulls no more than its reader does. */
export function boundedResponse(response: Response): Response {
  if (!response.body) return response
  const { status, statusText, headers } = response
  const isStream = headers.get('content-type')?.includes('text/event-stream') ?? false
  const body = ReadableStream.from(withinLimits(response.body, isStream ? maxStreamBytes : maxMessageBytes))
  return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { status, statusText, headers })
}

async function* withinLimits(chunks: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let [bytes, ofMessage, end] = [0, 0, Buffer.alloc(0)]
  for await (const chunk of chunks) {
    // In a stream, an empty line ends a message. It may be in two chunks.
    const seen = Buffer.concat([end, chunk])
    const ended = Math.max(...emptyLines.map((line) => seen.lastIndexOf(line)))
    ofMessage = ended < 0 ? ofMessage + chunk.byteLength : seen.length - ended
    bytes += chunk.byteLength
    if (bytes > most) throw new Error(`the response is longer than ${most} bytes`)
    if (ofMessage > maxMessageBytes) throw new Error(`a message is longer than ${maxMessageBytes} bytes`)
    end = Buffer.from(seen.subarray(-3))
    yield chunk
  }
}

const emptyLines = ['\n\n', '\r\n\r\n', '\r\r']
