import { basename, dirname, join } from 'node:path'
import { createClient } from '../../client/create-client.ts'
import { createScope } from '../../define/create-scope.ts'
import type { Scope } from '../../define/register.ts'
import { readLocalAccess } from '../../server/node/local-token.ts'
import { type Server, serve } from '../../server/serve.ts'
import type { Demo } from './open-demo.ts'

export type NearbyOptions = { readonly port: number; readonly storeFile: string; readonly user: string }

export type Nearby = Pick<Server, 'url' | 'close'>

/** On the usual port, or on a free one where something else has it. Where another demo serves this store already, that one is as good. */
export async function serveNearby(
  { runtime, store }: Pick<Demo, 'runtime' | 'store'>,
  { port, storeFile, user }: NearbyOptions,
): Promise<Nearby> {
  const name = basename(storeFile)
  const localTokenFile = join(dirname(storeFile), name === 'perdure.db' ? 'server.json' : `${name}.server.json`)
  const other = await addressOfLiving(localTokenFile)
  if (other !== null) return { url: other, close: async () => {} }
  const options = { localScope: createScope({ user }) as Scope, localTokenFile, upkeep: { store } }
  try {
    return await serve(runtime, { ...options, port })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // The demo is worth playing without its server.
    if (code === 'missing_dependency') return { url: `none. ${message}`, close: async () => {} }
    if (code !== 'EADDRINUSE') throw error
    return serve(runtime, { ...options, port: 0 })
  }
}

/** The file of a server that was killed is still there. */
async function addressOfLiving(tokenFile: string): Promise<string | null> {
  try {
    const { url, token } = await readLocalAccess(tokenFile)
    await createClient({ url, token, fetch: impatient }).conversations({ limit: 1 })
    return url
  } catch {
    return null
  }
}

const impatient: typeof fetch = (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(1_000) })
