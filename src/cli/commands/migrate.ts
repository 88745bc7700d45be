import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { UpkeepTarget } from '../upkeep/upkeep-target.ts'
import { wholeStoreArgs, withUpkeep } from '../upkeep/with-upkeep.ts'

export const migrate = command({
  args: {
    check: { type: 'boolean', description: 'Only look: exit code 0 when the schema is current, else 1' },
    ...wholeStoreArgs,
  },
  about: 'A store does this by itself when it is first used. A schema that is newer than this version is refused.',
  examples: [
    ['migrate', 'before a deploy'],
    ['migrate --check', 'in a health check'],
    ['migrate --check --url http://127.0.0.1:4111', 'of a running server'],
  ],
  run: (context) => {
    const { args, output } = context
    const check = args.check ?? false
    const work = async (target: UpkeepTarget) => {
      const { place } = target
      const migration = await target.migrate({ check })
      const { from, to, isCurrent } = migration
      output.result(migration, () => {
        if (isCurrent) return [`${place} has schema ${to}, which is current.`]
        const before = from === null ? 'no schema' : `schema ${from}`
        return [
          check ? `${place} has ${before}; this version writes ${to}.` : `${place}: from ${before} to schema ${to}.`,
        ]
      })
      return check && !isCurrent ? exitCodes.failed : exitCodes.ok
    }
    return withUpkeep(context, work, { create: !check })
  },
})
