import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { command } from '../command.ts'
import { counted } from '../counted.ts'
import { exitCodes } from '../exit-codes.ts'
import { showProgress } from '../upkeep/show-progress.ts'
import type { UpkeepTarget } from '../upkeep/upkeep-target.ts'
import { unlessDash, writeToStdout, writeWholeFile } from '../upkeep/whole-file.ts'
import { ofTenantArgs, tenantOf, wholeStoreArgs, withUpkeep } from '../upkeep/with-upkeep.ts'

export const exportCommand = command({
  args: {
    file: { type: 'positional', required: false, description: 'Where to write; default, and as -: stdout' },
    ...ofTenantArgs,
    ...wholeStoreArgs,
  },
  about: 'One moment of the whole store, also while others write to it. The same data gives the same bytes.',
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
      // For when the reader goes away: half of an export is none.
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
      whenInterrupted: 'The export was not finished, and what came of it is not whole. Run it again.',
    })
  },
})
