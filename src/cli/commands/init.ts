import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { packageVersion } from '../../base/errors/package-version.ts'
import { makeFolder } from '../../server/node/make-folder.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { projectFiles } from '../init/project-files.ts'
import { safe } from '../terminal/safe-text.ts'
import { unlessUnwritable } from '../unless-unwritable.ts'

export const init = command({
  args: {
    folder: { type: 'positional', required: false, description: 'Where; default: here' },
    name: { type: 'string', description: "The package's name; default: that of the folder" },
    perdure: {
      type: 'string',
      valueHint: 'version|tarball',
      description: 'What to install as perdure; default: this version',
    },
  },
  about: 'An agent with a tool that needs approval, a config, and a model that needs no key. Never overwrites a file.',
  examples: [
    ['init my-agents', 'a new folder; then: cd my-agents && npm install && npm start'],
    ['init --perdure ../perdure-0.1.0.tgz', 'here, with a package that is not on the registry'],
  ],
  async run({ args, output }) {
    const folder = resolve(args.folder ?? '.')
    const files = projectFiles({ name: packageName(args.name ?? basename(folder)), perdure: specOf(args.perdure) })
    const taken = Object.keys(files).filter((file) => existsSync(join(folder, file)))
    if (taken.length > 0) {
      throw new CommandLineError(
        `There is ${taken.join(', ')} in '${folder}' already, and nothing is overwritten`,
        'init',
      )
    }
    await unlessUnwritable(folder, 'name another folder', async () => {
      for (const [file, content] of Object.entries(files)) {
        await makeFolder(dirname(join(folder, file)))
        await writeFile(join(folder, file), content, { flag: 'wx' })
      }
    })
    const place = relative('.', folder)
    const steps = [...(place === '' ? [] : [`cd ${place}`]), 'npm install', 'npm start']
    output.result({ folder, files: Object.keys(files), next: steps }, () => [
      ...Object.keys(files).map((file) => safe`  ${output.colours.green('made')} ${join(place, file)}`),
      '',
      'Next:',
      ...steps.map((step) => safe`  ${output.colours.cyan(step)}`),
    ])
    return exitCodes.ok
  },
})

/** A path means the same in the new folder as here. */
function specOf(given: string | undefined): string {
  if (given === undefined) return `^${packageVersion}`
  const path = given.replace(/^file:/, '')
  if (path === given && !/^[./~]|\.tgz$/.test(given)) return given
  if (!existsSync(path)) throw new CommandLineError(`--perdure is '${given}', and there is no such file`, 'init')
  return `file:${resolve(path)}`
}

/** As npm takes it. */
function packageName(name: string): string {
  const fitting = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-_.]+/g, '-')
    .replaceAll(/^[-._]+|[-._]+$/g, '')
  return fitting === '' ? 'my-agents' : fitting
}
