import { command } from '../command.ts'
import { counted } from '../counted.ts'
import { exitCodes } from '../exit-codes.ts'
import { showProgress } from '../upkeep/show-progress.ts'
import type { UpkeepTarget } from '../upkeep/upkeep-target.ts'
import { readExport } from '../upkeep/whole-file.ts'
import { wholeStoreArgs, withUpkeep } from '../upkeep/with-upkeep.ts'

export const importCommand = command({
  args: {
    file: { type: 'positional', required: false, description: 'The export; default, and as -: stdin' },
    'skip-existing': { type: 'boolean', description: 'Leave what the store has as it is; default: it is refused' },
    ...wholeStoreArgs,
  },
  about:
    'Each conversation is written whole or not at all. Makes an SQLite file where there is none. An import that broke off is begun again with --skip-existing.',
  examples: [
    ['import backup.jsonl --store new.db', 'a backup into a new file'],
    ['import backup.jsonl --skip-existing', 'only what is missing'],
    ['import backup.jsonl --url http://127.0.0.1:4111', 'into a running server'],
  ],
  run: (context) => {
    const { args, output } = context
    const work = async (target: UpkeepTarget) => {
      const chunks = readExport(args.file, 'import')
      const skipExisting = args['skip-existing'] ?? false
      const imported = await showProgress('importing', (onProgress) =>
        target.importFrom(chunks, { skipExisting, onProgress }),
      )
      const { conversations, skipped } = imported
      const and = skipped > 0 ? `; ${skipped} were there already` : ''
      output.result(imported, () => [`Imported ${counted(conversations, 'conversation')} into ${target.place}${and}.`])
      return exitCodes.ok
    }
    return withUpkeep(context, work, {
      create: true,
      whenInterrupted:
        'The import was not finished; each conversation is there whole or not at all. Run it again with --skip-existing.',
    })
  },
})
