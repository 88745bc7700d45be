import { FileNotFoundError } from '../../base/errors/server-errors.ts'
import { existing } from '../existing.ts'
import type { Route } from '../route.ts'

export const fileRoutes: readonly Route[] = [
  {
    name: 'readFile',
    method: 'GET',
    path: '/conversations/:id/files/:blob',
    summary: 'The bytes of a file that a message of the conversation refers to, by their SHA-256',
    answer: { status: 200, description: 'The file.', type: 'application/octet-stream' },
    async handle(call) {
      const { conversation } = await existing(call)
      const blob = call.params['blob']!
      const file = /^[0-9a-f]{64}$/.test(blob) ? await call.verbs.inspect(conversation.id).file(blob) : null
      if (!file) throw new FileNotFoundError(conversation.id)
      return new Response(streamOf(file.pieces), { headers: headersOf(file.mediaType) })
    },
  },
]

/** Read no faster than the client takes it. */
function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: async () => void (await iterator.return?.()),
    },
    { highWaterMark: 0 },
  )
}

/**
 * Whoever sent a file chose its type. Only what a browser shows without running anything keeps it; the rest, and that is HTML and SVG, is
 * for download.
 */
function headersOf(mediaType: string): Record<string, string> {
  const [type = ''] = mediaType.toLowerCase().split(';')
  return harmless.test(type.trim())
    ? { 'content-type': type.trim(), 'content-disposition': 'inline' }
    : { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' }
}

const harmless =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|(?:audio|video)\/[a-z0-9.+-]{1,60}|text\/plain|application\/pdf)$/
