import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { InvalidRequestError } from '../../base/errors/server-errors.ts'

/** A request of Node as one of the web platform. Throws when it cannot be one. */
export function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/', headers } = incoming
  const target = `http://${headers.host ?? ''}${url}`
  // Nothing but a path: '*' and whole URLs are for proxies. Bytes as they are would be taken for letters of their own.
  if (!/^\/[\x21-\x7e]*$/.test(url) || !URL.canParse(target)) throw new InvalidRequestError('URL', 'it is not a path')
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {}
  try {
    return new Request(target, { method, headers: headersOf(incoming), signal, ...body } as RequestInit)
  } catch (cause) {
    throw new InvalidRequestError('method or header', cause instanceof Error ? cause.message : 'it is not valid')
  }
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2) headers.append(rawHeaders[index]!, rawHeaders[index + 1]!)
  return headers
}
