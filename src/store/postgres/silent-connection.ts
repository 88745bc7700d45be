import type { Socket } from 'node:net'
import type { ClientBase, PoolClient, QueryConfig } from 'pg'

/** A query that fails after so long without an answer; 0: never. The connection is of no use then: its answer may still come. */
export function withTimeout<Config extends QueryConfig>(config: Config, timeoutMs: number): Config {
  // Missing in the types of `pg`.
  return { ...config, query_timeout: timeoutMs }
}

/** Breaks the connection when `work` takes longer, so that whatever waits for an answer on it is rejected. */
export async function breakingAfter<T>(client: ClientBase, timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => socketOf(client)?.destroy(), timeoutMs)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}

/** Takes a connection out of the pool. A farewell that is never answered would keep the socket, and with it the process. */
export function discard(client: PoolClient): void {
  const socket = socketOf(client)
  client.release(true)
  socket?.destroySoon()
  setTimeout(() => socket?.destroy(), farewellMs).unref()
}

const farewellMs = 1_000

/** Missing in the types of `pg`. */
export function socketOf(client: ClientBase): Socket | undefined {
  return (client as { readonly connection?: { readonly stream?: Socket } }).connection?.stream
}
