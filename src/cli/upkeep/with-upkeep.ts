import type { ArgsDef, ParsedArgs } from 'citty'
import { CommandLineError } from '../../errors/cli-errors.ts'
import { targetArgs } from '../target/target-args.ts'
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

/** Opens the store, or the way to the server that has it, runs `work` on it, and closes it in any case. */
export async function withUpkeep<T>(
  args: UpkeepArgs,
  work: (target: UpkeepTarget) => Promise<T>,
  { create = false }: { readonly create?: boolean } = {},
): Promise<T> {
  const target = await openUpkeep(args, create)
  try {
    return await work(target)
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
