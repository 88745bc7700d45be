import { createClient } from '../../client/create-client.ts'
import { serverAccess } from './server-access.ts'
import type { Target } from './target.ts'

/** A running server. */
export async function openRemoteTarget(url: string, tokenFile?: string): Promise<Target> {
  const { address, token } = await serverAccess(url, tokenFile, 'token')
  const client = createClient({ url: address.href, token })
  return { ...client, kind: 'server', place: address.href, agents: null, close: async () => {} }
}
