import fc from 'fast-check'
import type { Backend } from './backends.ts'
import { checkpoint } from './checkpoint.ts'
import { allCommands } from './commands/all-commands.ts'
import { tenants } from './generate/names.ts'
import { allMethods, Tally } from './tally.ts'
import { World } from './world.ts'

export type CheckOptions = {
  readonly operations: number
  readonly seed: number
  /** Longest sequence of commands between two empty stores. */
  readonly sequenceLength?: number
}

/** A backend for a sequence of commands; a durable one may be the same again, because each sequence begins by emptying it. */
export type BackendFactory = () => Backend

/** Runs random commands against a store and the reference until so many have run. Throws on a difference, with the shrunk commands. */
export async function checkStore(
  backend: BackendFactory,
  options: CheckOptions,
  tally: Tally = new Tally(),
): Promise<Tally> {
  const { operations, seed, sequenceLength = 250 } = options
  const command = fc.oneof(...allCommands)
  const sequence = fc.commands([command], { size: 'max', maxCommands: sequenceLength })
  const property = fc.asyncProperty(sequence, (commands) => runSequence(backend, tally, commands))
  for (let round = 0; tally.operations < operations; round++) {
    const before = tally.operations
    const numRuns = Math.ceil((operations - before) / sequenceLength)
    await fc.assert(property, { seed: seed + round, numRuns, includeErrorInReport: true })
    if (tally.operations === before) throw new Error(`no command ran in round ${round} of seed ${seed}`)
  }
  demandCoverage(tally, options)
  return tally
}

async function runSequence(
  backend: BackendFactory,
  tally: Tally,
  commands: Iterable<fc.AsyncCommand<World, World>>,
): Promise<void> {
  const world = new World(backend(), tally)
  try {
    for (const tenant of tenants) await emptied(world, tenant)
    await fc.asyncModelRun(() => ({ model: world, real: world }), commands)
    for (const via of world.stores.keys()) await checkpoint(world, via)
    tally.sequences += 1
  } finally {
    await world.close()
  }
}

/** Deletes a tenant. Its tombstones stay, so the reference begins with them. */
async function emptied(world: World, tenant: string): Promise<void> {
  const { contract } = world
  const store = world.store(0)
  await store.deleteTenant(tenant)
  await store.upkeep?.snapshot(async (reader) => {
    for await (const { id } of reader.tombstones(tenant)) contract.tenant(tenant).tombstones.add(id)
  })
}

/** A run that left out a method, or that did not meet enough hostile strings, has shown less than it says. */
function demandCoverage(tally: Tally, { operations }: CheckOptions): void {
  if (tally.operations < operations) throw new Error(`${tally.operations} of ${operations} operations ran`)
  if (tally.hostileValues * 5 < tally.values) {
    throw new Error(`only ${tally.hostileValues} of ${tally.values} values held a hostile string; a fifth must`)
  }
  if (operations < 1000) return
  const missed = allMethods.filter((method) => !tally.methods.has(method))
  if (missed.length > 0) throw new Error(`these methods were never called: ${missed.join(', ')}`)
}
