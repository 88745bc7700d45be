import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { onAbort } from '../../base/abort.ts'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { StudioNotBuiltError } from '../../base/errors/server-errors.ts'
import { serveExport } from '../../server/studio/serve-export.ts'
import { type CommandContext, command, countOf, exitCodes } from '../command.ts'
import { prepareStudio, studioAddress } from '../studio/prepare-studio.ts'
import { findLocalAccess } from '../target/server-access.ts'
import { targetArgs } from '../target/target-args.ts'
import { safe } from '../terminal/text.ts'

const args = {
  file: { type: 'positional', required: false, description: 'An export to read, without a server or a store' },
  port: { type: 'string', valueHint: 'n', description: 'For an export; default: a free one' },
  'token-file': targetArgs['token-file'],
} as const

export const studio = command({
  args,
  about:
    'Without a file it prints the address of the studio of the server that runs here, with a new code that signs one page in, once and within ten minutes. With a file it serves that file to this machine until Ctrl-C.',
  examples: [
    ['studio', 'of the perdure serve in this folder'],
    ['studio backup.jsonl', 'read what perdure export has written'],
  ],
  run: (context) => (context.args.file === undefined ? printAddress(context) : openExport(context)),
})

async function printAddress({ args: { 'token-file': tokenFile }, output }: CommandContext<typeof args>) {
  const url = await studioAddress(await findLocalAccess(tokenFile))
  output.result({ studio: url }, () => [output.colours.cyan(url)])
  return exitCodes.ok
}

async function openExport({ args: given, output, interrupted }: CommandContext<typeof args>) {
  const file = resolve(given.file ?? '')
  if (!existsSync(file) || !statSync(file).isFile()) {
    throw new CommandLineError(`There is no file '${given.file}'; name one that perdure export has written`, 'studio')
  }
  if (!(await prepareStudio())) throw new StudioNotBuiltError()
  const signal = interrupted()
  const port = countOf('port', given.port, 0, 65_535) ?? 0
  const served = await serveExport(file, { port }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') throw error
    throw new CommandLineError(`The port ${port} cannot be used; leave --port out for a free one`, 'studio')
  })
  output.item({ studio: served.url, file }, () => [safe`Reading ${file} at`, output.colours.cyan(served.url)])
  await new Promise<void>((end) => void onAbort(signal, end))
  await served.close()
  return exitCodes.ok
}
