import { FileNotFoundError, RateLimitedError } from '../base/errors/server-errors.ts'
import type { InputPart } from '../engine/turn-options.ts'
import type { StoredFile } from '../runtime/read/inspect.ts'
import type { SignedFiles } from '../runtime/signed-files.ts'
import type { RouteCall } from './route.ts'
import type { ServerSettings } from './server-options.ts'

/** The path of a file, below the base path. */
export function filePath(conversationId: string, blob: string): string {
  return `/conversations/${encodeURIComponent(conversationId)}/files/${blob}`
}

export function fileResponse(file: StoredFile, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(streamOf(file.pieces), { headers: { ...headersOf(file.mediaType), ...headers } })
}

/**
 * Answers a request for a file by its signed address, from any origin and without an identity. Null for every other request, even if the signature is not
 * valid, because the caller may still have an identity.
 */
export async function answerSigned(
  request: Request,
  { basePath, rateLimit }: Pick<ServerSettings, 'basePath' | 'rateLimit'>,
  files: SignedFiles,
): Promise<Response | null> {
  const { pathname, searchParams } = new URL(request.url)
  const signature = searchParams.get('signed')
  if (signature === null || request.method !== 'GET' || !pathname.startsWith(`${basePath}/`)) return null
  const [, encoded = '', blob = ''] =
    /^\/conversations\/([^/]+)\/files\/([0-9a-f]{64})$/.exec(pathname.slice(basePath.length)) ?? []
  const id = decodeURIComponent(encoded)
  if (id === '' || !files.isSigned(id, blob, signature)) return null
  const verdict = await rateLimit?.({ request, scope: null, route: 'readFile' })
  if (verdict && !verdict.allowed) throw new RateLimitedError(verdict.retryAfterMs)
  const file = await files.open(id, blob, signature)
  if (!file) throw new FileNotFoundError(id)
  return fileResponse(file, forAnyOrigin)
}

/** A page may show the file. What the file is cannot run anything, here or there. */
const forAnyOrigin = {
  'cross-origin-resource-policy': 'cross-origin',
  'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
}

/** Reads no faster than the client. */
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
 * The sender of a file chose its type. Only types that a browser displays without running anything are kept. All
 * others, such as HTML and SVG, are downloads.
 */
function headersOf(mediaType: string): Record<string, string> {
  const [type = ''] = mediaType.toLowerCase().split(';')
  return harmless.test(type.trim())
    ? { 'content-type': type.trim(), 'content-disposition': 'inline' }
    : { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' }
}

const harmless =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|(?:audio|video)\/[a-z0-9.+-]{1,60}|text\/plain|application\/pdf)$/

/**
 * Parts of a message, with the bytes of files that the page has from this conversation. Their addresses expire, so they
 * are not what is recorded. A file that the caller cannot read stays an address, which `send` checks.
 */
export async function withStoredFiles(call: RouteCall, id: string, parts: readonly InputPart[]): Promise<InputPart[]> {
  return Promise.all(
    parts.map(async (part) => {
      const blob = part.type === 'file' && typeof part.data === 'string' ? blobIn(part.data, id) : null
      const file = blob === null ? null : await call.verbs.inspect(id).file(blob)
      if (!file) return part
      const pieces: Uint8Array[] = []
      for await (const piece of file.pieces) pieces.push(piece)
      return { ...part, data: new Uint8Array(Buffer.concat(pieces)) } as InputPart
    }),
  )
}

function blobIn(url: string, id: string): string | null {
  const [path = ''] = url.split('?', 1)
  const blob = path.slice(-64)
  return /^[0-9a-f]{64}$/.test(blob) && path.endsWith(filePath(id, blob)) ? blob : null
}
