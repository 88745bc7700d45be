import { CommandLineError } from '../../base/errors/cli-errors.ts'
import type { Secret } from '../../base/signer.ts'
import type { Client } from '../../client/create-client.ts'
import type { Output } from '../output.ts'
import { serverAccess } from './server-access.ts'
import type { StoreTargetOptions } from './store-target.ts'
import type { TargetArgs } from './target-args.ts'

/** Opens the target that the arguments name, runs `work` on it, and always closes it. */
export async function withTarget<T>(
  args: TargetArgs,
  output: Pick<Output, 'isVerbose'>,
  work: (target: Target) => Promise<T>,
  options: StoreTargetOptions = {},
): Promise<T> {
  const target = await openTarget(args, output, options)
  try {
    return await work(target)
  } finally {
    await target.close()
  }
}

export async function openTarget(
  args: TargetArgs,
  output: Pick<Output, 'isVerbose'>,
  options: StoreTargetOptions = {},
): Promise<Target> {
  // Loaded only for a store: a request to a server needs no runtime.
  if (args.url === undefined) return (await import('./store-target.ts')).openStoreTarget(args, output, options)
  for (const name of ['store', 'config', 'tenant', 'who'] as const) {
    if (args[name] !== undefined) throw new CommandLineError(`--${name} is for a store, and --url names a server`)
  }
  return openServerTarget(args.url, args['token-file'])
}

/** A running server. */
export async function openServerTarget(url: string, tokenFile?: string): Promise<Target> {
  const { address, token, operatorToken } = await serverAccess(url, tokenFile)
  const { createClient } = await import('../../client/create-client.ts')
  const client = createClient({ url: address.href, token, operatorToken })
  return { ...client, kind: 'server', place: address.href, agents: null, close: async () => {} }
}

/** What a command works on: the verbs of `perdure/client`, answered by a server or by this process on a store. */
export type Target = Pick<Client, 'conversation' | 'conversations' | 'inbox' | 'flow' | 'sessions'> & {
  readonly kind: 'store' | 'server'
  /** Shown to people: has no credentials in it. */
  readonly place: string
  /** The names of the agents whose code is here; null on a server, which keeps them to itself. */
  readonly agents: readonly string[] | null
  /** The secret in the config. */
  readonly secret?: Secret | undefined
  close(): Promise<void>
}
