import { migrateStore } from '../../upkeep/migrate-store.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { storeArgs } from '../target/target-args.ts'
import { withWholeStore } from '../upkeep/with-whole-store.ts'

const { tenant: _, ...placeArgs } = storeArgs

export const migrate = command({
  args: {
    check: { type: 'boolean', description: 'Only look: exit code 0 when the schema is current, else 1' },
    ...placeArgs,
  },
  about: 'A store does this by itself when it is first used. A schema that is newer than this version is refused.',
  examples: [
    ['migrate', 'before a deploy'],
    ['migrate --check', 'in a health check'],
  ],
  run: ({ args, output }) => {
    const check = args.check ?? false
    const work = async (store: Parameters<typeof migrateStore>[0], place: string) => {
      const migration = await migrateStore(store, { check })
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
    return withWholeStore(args, work, { create: !check })
  },
})
