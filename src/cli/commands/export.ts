import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { command, counted, exitCodes } from '../command.ts'
import { readExport, showProgress, unlessDash, writeToStdout, writeWholeFile } from '../upkeep/whole-file.ts'
import { ofTenantArgs, tenantOf, type UpkeepTarget, wholeStoreArgs, withUpkeep } from '../upkeep/with-upkeep.ts'

export const exportCommand = command({
  args: {
    file: { type: 'positional', required: false, description: 'The file to write; default, or -: stdout' },
    ...ofTenantArgs,
    ...wholeStoreArgs,
  },
  about:
    'A consistent snapshot of the whole store, also while other processes write to it. The same data gives the same bytes.',
  examples: [
    ['export backup.jsonl', 'a backup'],
    ['export --tenant acme acme.jsonl', 'of one tenant'],
    ['export --store agents.db | perdure import --store postgres://host/agents', 'from SQLite to Postgres'],
    ['export backup.jsonl --url http://127.0.0.1:4111', 'of the server on this machine'],
  ],
  run: (context) => {
    const { args, output } = context
    const file = unlessDash(args.file)
    const work = async (target: UpkeepTarget) => {
      if (file === undefined && process.stdout.isTTY) {
        throw new CommandLineError('An export is not for a terminal: name a file, or pipe it on', 'export')
      }
      // If the reader goes away: a partial export is worth nothing.
      process.exitCode = exitCodes.failed
      const exported = await showProgress('exporting', (onProgress) => {
        const options = { ...tenantOf(args), onProgress }
        if (file === undefined) return target.exportTo(writeToStdout, options)
        return writeWholeFile(file, (write) => target.exportTo(write, options))
      })
      const told = `Exported ${counted(exported.conversations, 'conversation')} of ${target.place}. Digest: ${exported.digest}`
      if (file === undefined) output.note(told)
      else output.result({ file, ...exported }, () => [told])
      return exitCodes.ok
    }
    return withUpkeep(context, work, {
      whenInterrupted: 'The export was not finished, and its output is not complete. Run it again.',
    })
  },
})

export const importCommand = command({
  args: {
    file: { type: 'positional', required: false, description: 'The export; default, or -: stdin' },
    'skip-existing': {
      type: 'boolean',
      description: 'Keep conversations that the store already has; default: refuse the import',
    },
    ...wholeStoreArgs,
  },
  about:
    'Each conversation is written whole or not at all. Creates the SQLite file if there is none. Restart a broken import with --skip-existing.',
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
