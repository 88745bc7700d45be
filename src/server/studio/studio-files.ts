import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MethodNotAllowedError, RouteNotFoundError, StudioNotBuiltError } from '../../base/errors/server-errors.ts'

/** Where the build of the studio is: beside the built package, or where a clone builds it. Not known before it is needed: a bundle of an application has no such place. */
function builtFolder(): string {
  const path = import.meta.url.endsWith('.ts') ? '../../../dist/studio' : '../studio'
  return fileURLToPath(new URL(path, import.meta.url))
}

export function isStudioBuilt(folder = builtFolder()): boolean {
  return existsSync(join(folder, 'index.html'))
}

/** Throws `StudioNotBuiltError` if there is no build, so that a server fails when it starts. */
export function checkStudioBuilt(folder = builtFolder()): void {
  if (!isStudioBuilt(folder)) throw new StudioNotBuiltError()
}

/**
 * A file of the studio, or its page. They are the same for every caller and hold nothing of any tenant, so they need no
 * identity. Read from disk for each request: browsers keep what is hashed, and the server keeps nothing in memory.
 *
 * `path` is the rest of the path after the mount point of the studio: empty, or begins with a slash.
 */
export async function studioResponse(request: Request, path: string, folder = builtFolder()): Promise<Response> {
  if (request.method !== 'GET' && request.method !== 'HEAD') throw new MethodNotAllowedError(['GET', 'HEAD'])
  const found = path.startsWith('/assets/')
    ? await assetResponse(request, path, folder)
    : await pageResponse(request, path, folder)
  return request.method === 'HEAD' ? new Response(null, found) : found
}

/** One name, without a slash or a leading dot: no path leads out of the folder. */
const assetPath = /^\/assets\/([\w-][\w.-]*)$/

async function assetResponse(request: Request, path: string, folder: string): Promise<Response> {
  const name = assetPath.exec(path)?.[1] ?? ''
  const type = contentTypes[extname(name)]
  if (type === undefined) throw new RouteNotFoundError()
  const file = join(folder, 'assets', name)
  for (const encoding of acceptedEncodings(request)) {
    const bytes = await fileOrNull(file + endings[encoding])
    if (bytes) return bytesResponse(bytes, { ...hashed, 'content-type': type, 'content-encoding': encoding })
  }
  const bytes = await fileOrNull(file)
  if (!bytes) throw new RouteNotFoundError()
  return bytesResponse(bytes, { ...hashed, 'content-type': type })
}

/** The page itself, at every address of the studio: it shows what its address says. */
async function pageResponse(request: Request, path: string, folder: string): Promise<Response> {
  const html = await readFile(join(folder, 'index.html'), 'utf8').catch(() => {
    throw new StudioNotBuiltError()
  })
  const bytes = Buffer.from(html.replace(/<base href="[^"]*"/, `<base href="${baseOf(path)}"`))
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  const headers = { ...pageHeaders, etag }
  const known = (request.headers.get('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  if (known.includes(etag)) return new Response(null, { status: 304, headers })
  return bytesResponse(bytes, headers)
}

/** Relative, so that it holds for every path that the server is mounted at, also behind a proxy that cuts a prefix off. */
function baseOf(path: string): string {
  if (path === '') return './studio/'
  return '../'.repeat(path.split('/').length - 2) || './'
}

function bytesResponse(bytes: Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>>): Response {
  return new Response(bytes, { headers: { ...headers, 'content-length': String(bytes.byteLength) } })
}

async function fileOrNull(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    return await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** The build writes each text in these forms, too. The smallest comes first. */
const endings = { br: '.br', gzip: '.gz' }

function acceptedEncodings(request: Request): (keyof typeof endings)[] {
  const accepted = (request.headers.get('accept-encoding') ?? '').split(',').flatMap((entry) => {
    const [name = '', weight = ''] = entry.trim().toLowerCase().split(';')
    return /^\s*q=0(\.0*)?\s*$/.test(weight) ? [] : [name.trim()]
  })
  return (['br', 'gzip'] as const).filter((name) => accepted.includes(name))
}

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

const hashed = {
  // The name of the file holds the digest of its content.
  'cache-control': 'public, max-age=31536000, immutable',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-encoding',
}

/** Nothing but the files of this server runs, and no other page may show this one in a frame. Files of messages are `blob:` images. */
const contentSecurityPolicy = [
  "default-src 'self'",
  "img-src 'self' data: blob:",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-src 'none'",
  "frame-ancestors 'none'",
].join('; ')

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}
