import { CommandLineError } from '../../base/errors/cli-errors.ts'
import type { Output } from '../output.ts'
import type { LocalTargetOptions } from './local-target.ts'
import type { Target } from './target.ts'
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
