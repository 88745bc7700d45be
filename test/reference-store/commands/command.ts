import type fc from 'fast-check'
import { show } from '../compare/show.ts'
import type { World } from '../world.ts'

/** A kind of command: what it is given, and what it does to the store and the reference. */
export type CommandKind<Args> = {
  readonly name: string
  /** How often, beside the others. Default: 4. */
  readonly weight?: number
  readonly args: fc.Arbitrary<Args>
  /** False: the command makes no sense now, is skipped, and does not count. */
  canRun?(world: World, args: Args): boolean
  run(world: World, args: Args): Promise<void>
}

export type ModelCommand = fc.AsyncCommand<World, World>

export type WeightedCommand = { readonly weight: number; readonly arbitrary: fc.Arbitrary<ModelCommand> }

export function command<Args>({ name, weight = 4, args, canRun, run }: CommandKind<Args>): WeightedCommand {
  const arbitrary = args.map(
    (given): ModelCommand => ({
      check: (world) => canRun?.(world as World, given) ?? true,
      async run(world) {
        world.tally.current = `${name}(${show(given).slice(0, 2000)})`
        await run(world, given)
        world.tally.count(name)
      },
      toString: () => `${name}(${show(given).slice(0, 2000)})`,
    }),
  )
  return { weight, arbitrary }
}
