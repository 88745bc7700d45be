import { createClient } from '../../client/create-client.ts'
import type { Target } from './open-target.ts'
import { serverAccess } from './server-access.ts'

/** A running server. */
export async function openRemoteTarget(url: string, tokenFile?: string): Promise<Target> {
  const { address, token, operatorToken } = await serverAccess(url, tokenFile)
  const client = createClient({ url: address.href, token, operatorToken })
  return { ...client, kind: 'server', place: address.href, agents: null, close: async () => {} }
}
