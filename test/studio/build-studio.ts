import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'vite'

const root = join(import.meta.dirname, '..', '..')

/** Builds the studio where its build is missing, or older than one of its sources. Takes some seconds. */
export async function buildStudio(): Promise<void> {
  const page = join(root, 'dist', 'studio', 'index.html')
  const sources = globSync(
    [
      'studio/**/*.{ts,tsx,css,html}',
      'src/**/*.ts',
      'src/**/*.tsx',
      'package-lock.json',
      'test/studio/build-studio.ts',
    ],
    {
      cwd: root,
      exclude: (path) => path.endsWith('.test.ts'),
    },
  )
  const newest = Math.max(...sources.map((file) => statSync(join(root, file)).mtimeMs))
  if (existsSync(page) && statSync(page).mtimeMs >= newest) return
  // Before the build: a source that changes meanwhile makes the next run build again.
  const { NODE_ENV } = process.env
  // A test runner sets it, and the page would get React's build for development: larger, slower, and not what people get.
  process.env['NODE_ENV'] = 'production'
  try {
    await build({ configFile: join(root, 'studio', 'vite.config.ts'), logLevel: 'warn' })
  } finally {
    if (NODE_ENV === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = NODE_ENV
  }
}
