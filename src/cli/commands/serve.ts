import { dirname, join } from 'node:path'
import { onAbort } from '../../base/abort.ts'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { createRuntime } from '../../runtime/create-runtime.ts'
import { isOwnAddress, serve } from '../../server/serve.ts'
import { command, countOf, exitCodes } from '../command.ts'
import { agentNames } from '../load-config.ts'
import { terminalLogger, unlessUnwritable } from '../output.ts'
import { prepareStudio } from '../studio/prepare-studio.ts'
import { openStore } from '../target/open-store.ts'
import { usualTokenFile } from '../target/server-access.ts'
import { storeArgs } from '../target/target-args.ts'
import { safe } from '../terminal/text.ts'
import { perdureCommand } from '../transcript/command-line.ts'

const { tenant: _, ...placeArgs } = storeArgs

export const serveCommand = command({
  args: {
    port: { type: 'string', valueHint: 'n', description: "Default: the config's, else 4111; 0 takes a free one" },
    host: {
      type: 'string',
      description: "Default: the config's, else 127.0.0.1; others need `authenticate` in the config",
    },
    ...placeArgs,
  },
  about:
    'Runs the agents and flows until Ctrl-C or SIGTERM: then it finishes the running work, up to ten seconds; a second Ctrl-C ends it at once. Everyone who can read the token file may use the server and maintain its store. The address of the studio signs one page in, once and within ten minutes; `perdure studio` prints another.',
  examples: [
    ['serve', 'the config here or above'],
    ['serve --config agents/perdure.config.ts --port 0 --json', 'on a free port, printed as JSON'],
  ],
  async run({ args, output, interrupted }) {
    const port = countOf('port', args.port, 0, 65_535)
    const logger = terminalLogger(output)
    const { store, place, loaded } = await openStore(args, { create: true, logger })
    if (!loaded) {
      await store.close()
      throw new CommandLineError('There is no perdure.config.ts here or above, and so no agent to serve', 'init')
    }
    const { server: { upkeep, ...settings } = {}, store: __, ...options } = loaded.config
    const localTokenFile = settings.localTokenFile ?? join(dirname(loaded.file), usualTokenFile)
    const signal = interrupted()
    // A store that cannot be read is reported once, here.
    await store.listConversations({ limit: 1 })
    const runtime = createRuntime({ logger, ...options, store })
    try {
      const given = { ...(port === undefined ? {} : { port }), ...(args.host ? { host: args.host } : {}) }
      const studio =
        settings.studio ?? (isOwnAddress(args.host ?? settings.host ?? '127.0.0.1') && (await prepareStudio()))
      const operated = upkeep === false ? {} : { upkeep: { ...upkeep, store, agents: agentNames(loaded.config) } }
      const serving = { logger: options.logger ?? logger, ...settings, ...operated, studio, localTokenFile, ...given }
      const server = await unlessUnwritable(localTokenFile, 'name another as server.localTokenFile in the config', () =>
        serve(runtime, serving).catch((error) => listeningProblem(error, serving)),
      )
      const url = server.url + (settings.basePath ?? '').replace(/\/+$/, '')
      const studioUrl = server.studioUrl()
      const told = {
        url,
        tokenFile: localTokenFile,
        store: place,
        pid: process.pid,
        ...(studioUrl && { studio: studioUrl }),
      }
      output.item(told, () => [
        safe`Serving ${output.colours.cyan(url)}`,
        ...(studioUrl ? [safe`  studio      ${output.colours.cyan(studioUrl)}`] : []),
        safe`  store       ${place}`,
        safe`  token file  ${localTokenFile}`,
        safe`  try         ${perdureCommand()} list --url ${url}`,
      ])
      await aborted(signal)
      output.note('Finishing the running work; Ctrl-C again ends at once.')
      await server.close()
    } finally {
      await runtime.close()
      await store.close()
    }
    return exitCodes.ok
  },
})

function listeningProblem(
  error: NodeJS.ErrnoException,
  { port = 4111, host }: { readonly port?: number; readonly host?: string },
): never {
  const { syscall = '', code = '' } = error
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') throw error
  if (code !== 'EADDRINUSE' && code !== 'EACCES') {
    throw new CommandLineError(
      `The host '${host}' is not an address of this machine (${code}); pass another with --host`,
      'serve',
    )
  }
  const why = code === 'EACCES' ? 'may not be used' : 'is taken, perhaps by another perdure serve'
  throw new CommandLineError(`The port ${port} ${why}; pass another with --port, or 0 for a free one`, 'serve')
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve))
}
