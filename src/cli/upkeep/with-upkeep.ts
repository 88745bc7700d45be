import type { ArgsDef, ParsedArgs } from 'citty'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { Interrupted } from '../interrupt.ts'
import type { Output } from '../output.ts'
import { targetArgs } from '../target/target-args.ts'
import { interruptible } from './interruptible.ts'
import type { UpkeepTarget } from './upkeep-target.ts'

const { tenant: _, who: __, url, 'token-file': tokenFile, ...placeArgs } = targetArgs

/** The options of commands on a whole store, or on a server that has one. */
export const wholeStoreArgs = {
  url: { ...url, description: 'A running server, instead of a store; you must be one of its operators' },
  'token-file': tokenFile,
  ...placeArgs,
} as const satisfies ArgsDef

/** Of commands that may do with one tenant. */
export const ofTenantArgs = {
  tenant: { type: 'string', description: 'Only this tenant; default: all' },
} as const satisfies ArgsDef

export type UpkeepArgs = Partial<
  Pick<ParsedArgs<typeof wholeStoreArgs & typeof ofTenantArgs>, keyof typeof wholeStoreArgs | 'tenant'>
>

type UpkeepContext = {
  readonly args: UpkeepArgs
  readonly output: Output
  interrupted(): AbortSignal
}

type UpkeepWork = {
  /** Makes a store where there is none. Default: false. */
  readonly create?: boolean
  /** What is told when somebody ends it with Ctrl-C. Default: nothing, and the process ends at once, also where SQLite would let nobody interrupt it. */
  readonly whenInterrupted?: string
}

/** Opens the store, or the way to the server that has it, runs `work` on it, and closes it in any case. */
export async function withUpkeep<T>(
  { args, output, interrupted }: UpkeepContext,
  work: (target: UpkeepTarget) => Promise<T>,
  { create = false, whenInterrupted }: UpkeepWork = {},
): Promise<T> {
  const opened = await openUpkeep(args, create)
  const target = whenInterrupted === undefined ? opened : interruptible(opened, interrupted())
  try {
    return await work(target)
  } catch (error) {
    if (error instanceof Interrupted && whenInterrupted) output.note(whenInterrupted)
    throw error
  } finally {
    await target.close()
  }
}

async function openUpkeep(args: UpkeepArgs, create: boolean): Promise<UpkeepTarget> {
  // Each only where it is needed: a store is a lot to load for one request.
  if (args.url === undefined) return (await import('./local-upkeep.ts')).openLocalUpkeep(args, { create })
  for (const name of ['store', 'config'] as const) {
    if (args[name] !== undefined) throw new CommandLineError(`--${name} is for a store, and --url names a server`)
  }
  return (await import('./remote-upkeep.ts')).openRemoteUpkeep(args.url, args['token-file'])
}

export function tenantOf({ tenant }: UpkeepArgs): { readonly tenant?: string } {
  return tenant === undefined ? {} : { tenant }
}
