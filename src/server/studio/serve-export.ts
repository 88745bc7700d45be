import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { MethodNotAllowedError, RouteNotFoundError } from '../../base/errors/server-errors.ts'
import { checkHost, checkOrigin } from '../guard/read-body.ts'
import { toNodeListener } from '../node/to-node-listener.ts'
import { problemOf } from '../problem.ts'
import { checkStudioBuilt, studioResponse } from './studio-files.ts'

export type ServedExport = {
  /** The page with the file loaded. */
  readonly url: string
  close(): Promise<void>
}

/** The name that the page loads the file by, beside its own files. */
const exportName = '/export.jsonl'

/**
 * Serves the studio to this machine, with an export to read and nothing else: there is no API, no store and no identity.
 * Its path holds a secret, because other users of the machine may reach the port as well.
 */
export async function serveExport(file: string, { port = 0 }: { readonly port?: number } = {}): Promise<ServedExport> {
  checkStudioBuilt()
  const mount = `/${randomBytes(18).toString('base64url')}/studio`
  const server = createServer(toNodeListener((request) => answer(request, mount, file).catch(problemOf)))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${taken}${mount}/open?from=${exportName.slice(1)}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(request: Request, mount: string, file: string): Promise<Response> {
  checkHost(request, ['127.0.0.1', 'localhost'])
  const { pathname } = new URL(request.url)
  if (pathname !== mount && !pathname.startsWith(`${mount}/`)) throw new RouteNotFoundError()
  const path = pathname.slice(mount.length)
  if (path !== exportName) return studioResponse(request, path)
  checkOrigin(request, [])
  if (request.method !== 'GET' && request.method !== 'HEAD') throw new MethodNotAllowedError(['GET', 'HEAD'])
  const { size } = await stat(file)
  const body = request.method === 'HEAD' ? null : (Readable.toWeb(createReadStream(file)) as ReadableStream)
  return new Response(body, { headers: { ...exportHeaders, 'content-length': String(size) } })
}

const exportHeaders = {
  'content-type': 'application/x-ndjson',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
