import { CommandLineError } from '../../errors/cli-errors.ts'
import type { Output } from '../output.ts'
import { type LocalTargetOptions, openLocalTarget } from './local-target.ts'
import { openRemoteTarget } from './remote-target.ts'
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
  if (args.url === undefined) return openLocalTarget(args, output, options)
  for (const name of ['store', 'config', 'tenant', 'who'] as const) {
    if (args[name] !== undefined) throw new CommandLineError(`--${name} is for a store, and --url names a server`)
  }
  return openRemoteTarget(args.url, args['token-file'])
}
