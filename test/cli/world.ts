import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../src/base/logger.ts'
import { createClient } from '../../src/client/create-client.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { readLocalAccess, serve } from '../../src/server/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { agents, flows } from './agents.ts'

/** A folder with a store that a runtime of the test works on, served over a socket. */
export type World = {
  readonly folder: string
  readonly file: string
  readonly url: string
  readonly store: Store
  readonly runtime: Runtime
  /** The options that lead a command to it, directly or over the server. */
  readonly ways: Readonly<Record<Way, readonly string[]>>
  /** Sends a message and waits until the turn waits or has ended. */
  say(id: string, text: string): Promise<void>
  close(): Promise<void>
}

export type Way = 'store' | 'server'

export const ways: readonly Way[] = ['store', 'server']

export async function openWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-cli-'))
  const file = join(folder, 'agents.db')
  const tokenFile = join(folder, 'token.json')
  const store = sqliteStore({ path: file, logger: silentLogger })
  const runtime = createRuntime({ agents, flows, store, logger: silentLogger }) as unknown as Runtime
  const server = await serve(runtime, { port: 0, localTokenFile: tokenFile, upkeep: { store }, logger: silentLogger })
  const client = createClient(await readLocalAccess(tokenFile))
  return {
    folder,
    file,
    url: server.url,
    store,
    runtime,
    ways: { store: ['--store', file], server: ['--url', server.url, '--token-file', tokenFile] },
    async say(id, text) {
      const conversation = client.conversation(id, { agent: 'support' })
      const { turnId } = await conversation.send(text)
      await conversation.outcome(turnId)
    },
    async close() {
      await server.close({ drainMs: 0 })
      await runtime.close({ drainMs: 0 })
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
