import type { ArgsDef, ParsedArgs } from 'citty'
import { onAbort } from '../../base/abort.ts'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { silentLogger } from '../../base/logger.ts'
import type { Outbox } from '../../store/outbox.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { Garbage, GarbageOptions } from '../../upkeep/collect-garbage.ts'
import type { Difference } from '../../upkeep/differences-with.ts'
import type { Examination, ExamineOptions } from '../../upkeep/examine-store.ts'
import type { Exported, ExportOptions } from '../../upkeep/export-store.ts'
import type { Imported, ImportOptions } from '../../upkeep/import-store.ts'
import type { Migration } from '../../upkeep/maintenance.ts'
import { Interrupted } from '../command.ts'
import type { Output } from '../output.ts'
import { targetArgs } from '../target/target-args.ts'
import type { FleetVerbs } from './fleet-verbs.ts'

const { tenant: _, who: __, url, 'token-file': tokenFile, ...placeArgs } = targetArgs

/** The options of commands on a whole store, or on its server. */
export const wholeStoreArgs = {
  url: { ...url, description: 'A running server, instead of a store; needs an operator token' },
  'token-file': tokenFile,
  ...placeArgs,
} as const satisfies ArgsDef

/** For commands that can be limited to one tenant. */
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
  /** Creates a missing store. Default: false. */
  readonly create?: boolean
  /** The note when Ctrl-C ends the work. Without it, Ctrl-C ends the process at once, also in the middle of a SQLite statement. */
  readonly whenInterrupted?: string
}

/** Opens the store, or the connection to its server, runs `work` on it, and always closes it. */
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
  if (args.url === undefined) return openStoreUpkeep(args, create)
  for (const name of ['store', 'config'] as const) {
    if (args[name] !== undefined) throw new CommandLineError(`--${name} is for a store, and --url names a server`)
  }
  return (await import('./remote-upkeep.ts')).openRemoteUpkeep(args.url, args['token-file'])
}

/**
 * Opens the store only for maintenance: deadlines are left to the processes that work on it. Not through the routes of a server: they hide the words of
 * a store that fails, and hold every line of an export twice.
 */
async function openStoreUpkeep(args: UpkeepArgs, create: boolean): Promise<UpkeepTarget> {
  const [upkeep, { unquarantine }, { openStore }, { agentNames }, { outboxOf }, { fleetVerbsOf }] = await Promise.all([
    import('../../upkeep/index.ts'),
    import('../../upkeep/maintenance.ts'),
    import('../target/open-store.ts'),
    import('../load-config.ts'),
    import('../../store/outbox.ts'),
    import('./fleet-verbs.ts'),
  ])
  const { store, place, loaded } = await openStore(args, { logger: silentLogger, create, expiry: false })
  const agents = loaded ? { agents: agentNames(loaded.config) } : {}
  return {
    place,
    exportTo: (write, options) => upkeep.exportStore(store, write, options),
    async importFrom(chunks, options) {
      const imported = await upkeep.importStore(store, chunks, options)
      // An empty export writes nothing, and must still leave a store behind.
      await upkeep.migrateStore(store)
      return imported
    },
    examine: (options) => upkeep.examineStore(store, { ...options, ...agents }),
    compareWith: (chunks, onDifference, options) => upkeep.differencesWith(store, chunks, onDifference, options),
    unquarantine: (ref) => unquarantine(store, ref),
    outbox: outboxVerbs(() => outboxOf(store)),
    fleet: fleetVerbsOf(store),
    migrate: (options) => upkeep.migrateStore(store, options),
    collectGarbage: (options) => upkeep.collectGarbage(store, options),
    close: () => store.close(),
  }
}

export function tenantOf({ tenant }: UpkeepArgs): { readonly tenant?: string } {
  return tenant === undefined ? {} : { tenant }
}

/** Maintenance of a whole store, opened here or by a running server. */
export type UpkeepTarget = {
  /** Shown to people: has no credentials in it. */
  readonly place: string
  /** Passes the pieces of an export to `write`, and waits for each. */
  exportTo(write: Write, options: ExportOptions): Promise<Exported>
  importFrom(chunks: AsyncIterable<Uint8Array>, options: ImportOptions): Promise<Imported>
  /** The target adds the agents that have code. */
  examine(options: Omit<ExamineOptions, 'agents' | 'signal'>): Promise<Examination>
  /** Returns the number of differences. */
  compareWith(
    chunks: AsyncIterable<Uint8Array>,
    onDifference: (difference: Difference) => void,
    options: { readonly tenant?: string },
  ): Promise<number>
  /** False when it is not quarantined. */
  unquarantine(ref: ConversationRef): Promise<boolean>
  readonly outbox: OutboxVerbs
  readonly fleet: FleetVerbs
  migrate(options: { readonly check: boolean }): Promise<Migration>
  collectGarbage(options: Omit<GarbageOptions, 'signal'>): Promise<Garbage>
  close(): Promise<void>
}

/** What operators do with an outbox. */
export type OutboxVerbs = Pick<Outbox, 'subscribers' | 'failed' | 'endFailed' | 'removeSubscriber'>

/** Refused when one is called, not when the store is opened. */
function outboxVerbs(outbox: () => Outbox): OutboxVerbs {
  return {
    subscribers: async () => outbox().subscribers(),
    failed: async (page) => outbox().failed(page),
    endFailed: async (ids, how) => outbox().endFailed(ids, how),
    removeSubscriber: async (name) => outbox().removeSubscriber(name),
  }
}

export type Write = (piece: string | Uint8Array) => Promise<void>

/** Rejects with `Interrupted` on Ctrl-C, whatever the target does. */
function interruptible(target: UpkeepTarget, signal: AbortSignal): UpkeepTarget {
  const ended = new Promise<never>((_, reject) => {
    onAbort(signal, () => reject(new Interrupted()))
  })
  ended.catch(() => {})
  const unlessEnded = <T>(work: Promise<T>): Promise<T> => Promise.race([work, ended])
  return {
    place: target.place,
    exportTo: (write, options) => unlessEnded(target.exportTo(write, options)),
    importFrom: (chunks, options) => unlessEnded(target.importFrom(chunks, options)),
    examine: (options) => unlessEnded(target.examine(options)),
    compareWith: (chunks, onDifference, options) => unlessEnded(target.compareWith(chunks, onDifference, options)),
    unquarantine: (ref) => unlessEnded(target.unquarantine(ref)),
    outbox: target.outbox,
    fleet: target.fleet,
    migrate: (options) => unlessEnded(target.migrate(options)),
    collectGarbage: (options) => unlessEnded(target.collectGarbage(options)),
    // Interrupted work may still use the store. Both end with the process, as in a crash.
    close: () => (signal.aborted ? Promise.resolve() : target.close()),
  }
}
