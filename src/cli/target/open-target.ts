import { CommandLineError } from '../../base/errors/cli-errors.ts'
import type { Client } from '../../client/create-client.ts'
import type { Output } from '../output.ts'
import type { LocalTargetOptions } from './local-target.ts'
import type { TargetArgs } from './target-args.ts'

/** Opens what the arguments name, runs `work` on it, and closes it in any case. */
export async function withTarget<T>(
  args: TargetArgs,
  output: Pick<Output, 'isVerbose'>,
  work: (target: Target) => Promise<T>,
  options: LocalTargetOptions = {},
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
  options: LocalTargetOptions = {},
): Promise<Target> {
  // Each only where it is needed: a runtime is a lot to load for one request.
  if (args.url === undefined) return (await import('./local-target.ts')).openLocalTarget(args, output, options)
  for (const name of ['store', 'config', 'tenant', 'who'] as const) {
    if (args[name] !== undefined) throw new CommandLineError(`--${name} is for a store, and --url names a server`)
  }
  return (await import('./remote-target.ts')).openRemoteTarget(args.url, args['token-file'])
}

/** What a command works on: the verbs of `perdure/client`, whether a server answers them or this process on a store. */
export type Target = Pick<Client, 'conversation' | 'conversations' | 'inbox' | 'flow'> & {
  readonly kind: 'store' | 'server'
  /** For people, without credentials. */
  readonly place: string
  /** The names of the agents whose code is here; null where only the server knows. */
  readonly agents: readonly string[] | null
  close(): Promise<void>
}
