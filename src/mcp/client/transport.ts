import type { ChildProcess } from 'node:child_process'
import type { Transport } from '@modelcontextprotocol/client'
import { guardedFetch } from '../../base/pinned-request.ts'
import { boundedResponse, maxMessageBytes } from './bounded-response.ts'
import { loadClient, loadStdio } from './load-client.ts'
import type { Secrets } from './secrets.ts'
import { isProcess, isTexts, type McpAddress, type McpProcess } from './server-address.ts'

export type ServerTransport = Transport & {
  /** Ends a process at once. Asked to end, it could write on until then. */
  kill?(): void
}

/** A new connection to the server, not yet open. */
export async function openTransport(server: McpProcess | McpAddress, secrets: Secrets): Promise<ServerTransport> {
  return isProcess(server) ? await processTransport(server, secrets) : await httpTransport(server, secrets)
}

async function processTransport(
  { command, args = [], env = {}, cwd }: McpProcess,
  secrets: Secrets,
): Promise<ServerTransport> {
  const { StdioClientTransport, getDefaultEnvironment } = await loadStdio()
  secrets.add(Object.values(env))
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    // What it writes there could hold anything, and nothing would bound it.
    stderr: 'ignore',
    maxBufferSize: maxMessageBytes,
    ...(cwd === undefined ? {} : { cwd }),
  })
  // A command such as npx starts another process, which outlives it and keeps its pipes open. Stop reading and writing them.
  const letGo = (child: ChildProcess | undefined): void => {
    child?.stdout?.destroy()
    child?.stdin?.destroy()
  }
  const close = transport.close.bind(transport)
  transport.close = async () => {
    const child = transport['_process']
    await close()
    letGo(child)
  }
  const kill = (): void => {
    const child = transport['_process']
    child?.kill('SIGKILL')
    letGo(child)
  }
  return Object.assign(transport, { kill })
}

async function httpTransport(server: McpAddress, secrets: Secrets): Promise<ServerTransport> {
  const { headers = {}, allowPrivateAddresses = false } = server
  const url = new URL(server.url)
  const { StreamableHTTPClientTransport } = await loadClient()
  const send = server.fetch ?? guardedFetch({ allowPrivate: allowPrivateAddresses })
  return new StreamableHTTPClientTransport(url, {
    fetch: async (target, init) => {
      const own = typeof headers === 'function' ? await headers() : headers
      if (!isTexts(own)) throw new TypeError("the function 'headers' must return an object of texts")
      secrets.addFrom(url)
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
