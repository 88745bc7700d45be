import { lookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { BlockList, isIP } from 'node:net'
import { Readable } from 'node:stream'

/** Which addresses a request may go to, and how it is made. */
type Outgoing = {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  readonly signal: AbortSignal | undefined
  /** Whether addresses of this machine and of private networks may be connected to. */
  readonly allowPrivate: boolean
}

export type PinnedRequest = Omit<Outgoing, 'method' | 'body' | 'signal'> & {
  readonly body: string
  readonly signal: AbortSignal
  /** More of the response is not read. */
  readonly maxBytes: number
}

/** Finds the addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>

const resolveHost: Resolve = (host) => lookup(host, { all: true, verbatim: true })

/** POSTs to the very address that was checked, and reads the beginning of the answer. Follows no redirects. */
export async function pinnedPost(
  { maxBytes, ...request }: PinnedRequest,
  resolve: Resolve = resolveHost,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await respond({ ...request, method: 'POST' }, resolve)
  return { status: response.statusCode ?? 0, text: await readText(response, maxBytes) }
}

/** A `fetch` that connects to the very address that was checked. Takes texts and bytes as bodies, follows no redirects, and reads no more than is read of it. */
export function guardedFetch(
  { allowPrivate }: Pick<Outgoing, 'allowPrivate'>,
  resolve: Resolve = resolveHost,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    const { method = 'GET', body = null, signal } = init
    if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array))
      throw new TypeError('only texts and bytes can be sent')
    const headers = Object.fromEntries(new Headers(init.headers))
    const request = { url: new URL(url), method, headers, body, signal: signal ?? undefined, allowPrivate }
    const response = await respond(request, resolve)
    const { statusCode: status = 0, rawHeaders } = response
    const given = new Headers()
    for (let index = 0; index + 1 < rawHeaders.length; index += 2)
      given.append(rawHeaders[index]!, rawHeaders[index + 1]!)
    if (status < 200 || status > 599) {
      response.destroy()
      throw new Error(`it answered with the status ${status}, which no response has`)
    }
    const hasBody = method !== 'HEAD' && ![204, 205, 304].includes(status)
    if (!hasBody) response.resume()
    return new Response(hasBody ? streamOf(readChunks(response)) : null, { status, headers: given })
  }
}

/** Reads no more than its reader does. The types of browsers have no `ReadableStream.from`. */
function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return Readable.toWeb(Readable.from(chunks, { highWaterMark: 1 })) as ReadableStream<Uint8Array<ArrayBuffer>>
}

async function* readChunks(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) yield chunk
  } finally {
    response.destroy()
  }
}

/**
 * The name is resolved once, and a second answer of the name server is never asked for. TLS still checks the certificate against the name.
 */
async function respond(
  { url, method, headers, body, signal, allowPrivate }: Outgoing,
  resolve: Resolve,
): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  const found = family === 0 ? [...(await resolve(host))] : [{ address: host, family }]
  signal?.throwIfAborted()
  const [first] = found
  if (!first) throw new Error(`'${host}' has no address`)
  // All of them: a name that also has a private address is trusted with none.
  const refused = allowPrivate ? undefined : found.find(({ address }) => isPrivateAddress(address))
  if (refused)
    throw new Error(
      `'${host}' is ${refused.address}, an address of this machine or of a private network; set allowPrivateAddresses if it is meant`,
    )
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((settle, reject) => {
    const outgoing = send(
      {
        host,
        // The connection resolves the name here, and gets the checked address.
        lookup: (_host, { all }, answer) => (all ? answer(null, found) : answer(null, first.address, first.family)),
        port: url.port || (url.protocol === 'https:' ? 443 : 80),
        path: `${url.pathname}${url.search}`,
        method,
        headers: {
          ...headers,
          host: url.host,
          ...(body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
        },
        agent: false,
        ...(signal ? { signal } : {}),
      },
      settle,
    )
    outgoing.on('error', reject)
    // A switch to another protocol closes the connection without an error.
    outgoing.on('close', () => reject(new Error('the connection was closed before it answered')))
    outgoing.end(body ?? undefined)
  })
}

async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= maxBytes) break
  }
  response.destroy()
  return Buffer.concat(chunks).subarray(0, maxBytes).toString()
}

const privateRanges = new BlockList()
for (const [network, prefix] of [
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
  ] as const),
  ...([
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
  ] as const),
  ...([
    ['192.88.99.0', 24],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
  ] as const),
] as const)
  privateRanges.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  ...([
    ['::', 128],
    ['::1', 128],
    ['64:ff9b:1::', 48],
    ['100::', 64],
    ['2001::', 32],
    ['2001:db8::', 32],
    ['3fff::', 20],
    ['5f00::', 16],
  ] as const),
  ...([
    ['fc00::', 7],
    ['fe80::', 10],
    ['fec0::', 10],
    ['ff00::', 8],
  ] as const),
] as const)
  privateRanges.addSubnet(network, prefix, 'ipv6')

/** Addresses that only mean something on this machine or in its network. An IPv6 address that holds an IPv4 address is judged by that one. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, '')
  const family = isIP(plain)
  if (family === 4) return privateRanges.check(plain, 'ipv4')
  if (family !== 6) return true
  if (privateRanges.check(plain, 'ipv6')) return true
  const inner = embeddedIpv4(plain)
  return inner !== null && privateRanges.check(inner, 'ipv4')
}

/** Of ::ffff:0:0/96 (mapped), ::/96 (compatible), 64:ff9b::/96 (NAT64) and 2002::/16 (6to4). */
function embeddedIpv4(address: string): string | null {
  const words = wordsOf(address)
  const is = (from: number, ...expected: number[]) => expected.every((word, index) => words[from + index] === word)
  const from = (index: number) => {
    const [high = 0, low = 0] = words.slice(index)
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  if (is(0, 0x2002)) return from(1)
  if (is(0, 0, 0, 0, 0, 0) && (words[5] === 0xffff || words[5] === 0)) return from(6)
  return is(0, 0x64, 0xff9b, 0, 0, 0, 0) ? from(6) : null
}

/** The eight words of an IPv6 address. */
function wordsOf(address: string): number[] {
  const quad = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const hex = quad
    ? `${quad[1]}${((Number(quad[2]) << 8) | Number(quad[3])).toString(16)}:${((Number(quad[4]) << 8) | Number(quad[5])).toString(16)}`
    : address
  const [before = '', after] = hex.split('::')
  const parse = (text: string) =>
    text
      .split(':')
      .filter((word) => word !== '')
      .map((word) => Number.parseInt(word, 16))
  const [head, tail] = [parse(before), parse(after ?? '')]
  return [...head, ...new Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0), ...tail]
}
