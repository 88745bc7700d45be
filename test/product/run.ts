/**
 * `npm run product`: packs this package, installs it into a copy of the Next.js app of the examples, builds and starts the app, and uses it with a real browser.
 * Prints a line for each case. Needs npm's registry on the first run; later runs take the app's dependencies from `node_modules/.cache`.
 *
 * `--keep` leaves the app where it is, and `--app <folder>` uses such an app again as it was built. `--only 'part of a name'` runs some of the cases.
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { launchBrowser } from '../support/browser/launch-browser.ts'
import { copyApp, packPerdure, removeFolder } from './app-copy.ts'
import { runCases, summary } from './cases.ts'
import { chatCases } from './chat-cases.ts'
import { containerCases } from './container-cases.ts'
import { nextServer } from './next-process.ts'
import { type App, serverCases } from './server-cases.ts'

const { values } = parseArgs({
  options: {
    keep: { type: 'boolean', default: false },
    app: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const chosen = <C extends { readonly name: string }>(cases: readonly C[]): C[] =>
  cases.filter(({ name }) => name.includes(values.only))

const packed = await mkdtemp(join(tmpdir(), 'perdure-packed-'))
const tarball = values.app === undefined ? await packPerdure(packed) : null
if (tarball) await runCases(chosen(containerCases), { tarball })
if (chosen([...serverCases, ...chatCases]).length > 0) await runAppCases(values.app ?? (await copyApp(tarball!)))
await removeFolder(packed)
const { passed, failed } = summary()
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0

async function runAppCases(folder: string): Promise<void> {
  const effectsFile = join(folder, 'effects.txt')
  const app: App = {
    folder,
    env: { PERDURE_DB: join(folder, 'chats.db'), EFFECTS: effectsFile, NEXT_MANUAL_SIG_HANDLE: 'true' },
    effects: () => (existsSync(effectsFile) ? readFileSync(effectsFile, 'utf8').trim().split('\n') : []),
  }
  // The first of them builds the app.
  if (tarball) await runCases(serverCases, app)
  const browser = await launchBrowser()
  const chat = { ...app, browser, server: await nextServer('start', folder, app.env) }
  await runCases(chosen(chatCases), chat)
  await browser.close()
  await chat.server.stop('SIGTERM')
  if (summary().failed > 0 || values.keep || values.app !== undefined) console.log(`the app is in ${folder}`)
  else await removeFolder(folder)
}
