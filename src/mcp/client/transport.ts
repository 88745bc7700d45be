import type { Transport } from '@modelcontextprotocol/client'
import { guardedFetch } from '../../base/pinned-request.ts'
import { boundedResponse, maxMessageBytes } from './bounded-response.ts'
import { loadClient, loadStdio } from './load-client.ts'
import type { Secrets } from './secrets.ts'
import { isProcess, type McpAddress, type McpProcess } from './server-address.ts'

/** A new connection to the server, not yet open. */
export async function openTransport(server: McpProcess | McpAddress, secrets: Secrets): Promise<Transport> {
  if (!isProcess(server)) return await httpTransport(server, secrets)
  const { command, args = [], env = {}, cwd } = server
  const { StdioClientTransport, getDefaultEnvironment } = await loadStdio()
  secrets.add(Object.values(env))
  return new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    // What it writes there could hold anything, and nothing would bound it.
    stderr: 'ignore',
    maxBufferSize: maxMessageBytes,
    ...(cwd === undefined ? {} : { cwd }),
  })
}

async function httpTransport(server: McpAddress, secrets: Secrets): Promise<Transport> {
  const { headers = {}, allowPrivateAddresses = false } = server
  const url = new URL(server.url)
  secrets.add([...url.searchParams.values()])
  const { StreamableHTTPClientTransport } = await loadClient()
  const send = server.fetch ?? guardedFetch({ allowPrivate: allowPrivateAddresses })
  return new StreamableHTTPClientTransport(url, {
    fetch: async (target, init) => {
      const own = typeof headers === 'function' ? await headers() : headers
      secrets.add(Object.values(own))
      const all = new Headers(init?.headers)
      for (const [name, value] of Object.entries(own)) all.set(name, value)
      return boundedResponse(await send(target, { ...init, headers: all, redirect: 'manual' }))
    },
    // A connection that breaks is made again by us, with pauses that are ours.
    reconnectionOptions: {
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 30_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 0,
    },
  })
}
