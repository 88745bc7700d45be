/**
 * Builds the studio into dist/studio where it is missing: `npm install` runs this as `prepare`, and `npm start` and `perdure serve` in a clone
 * run it when they find no build. Plain JavaScript, because an older Node may run it. Says why it did not build, and never fails an install.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const built = join(root, 'dist', 'studio')
const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')

if (!existsSync(join(built, 'index.html'))) {
  if (existsSync(vite)) build()
  else console.error('The studio is not built: its build tools are development dependencies, which are not installed.')
}

function build() {
  console.error('Building the studio, once. This takes some seconds.')
  // Two processes may build at once. Each has its own draft, and one of the two stays.
  const draft = join(root, 'dist', `studio.${process.pid}`)
  const args = ['build', '--config', join(root, 'studio', 'vite.config.ts'), '--logLevel', 'warn', '--outDir', draft]
  const { status } = spawnSync(process.execPath, [vite, ...args], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    if (status !== 0) throw new Error(`vite ended with ${status}`)
    mkdirSync(join(root, 'dist'), { recursive: true })
    if (!existsSync(join(built, 'index.html'))) renameSync(draft, built)
  } catch (error) {
    if (existsSync(join(built, 'index.html'))) return
    console.error(
      `The studio was not built (${error instanceof Error ? error.message : error}). Run npm run build:studio.`,
    )
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}
