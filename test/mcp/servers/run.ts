/**
 * `npm run mcp`: packs this package, installs it beside official MCP servers in a folder of its own, and calls tools of each: texts, structure, images, links,
 * progress, errors, and a write that waits for an approval.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packPerdure, removeFolder, withDependencies } from '../../product/app-copy.ts'

const packed = await mkdtemp(join(tmpdir(), 'perdure-packed-'))
const app = await mkdtemp(join(tmpdir(), 'perdure-mcp-servers-'))
await cp(join(import.meta.dirname, 'app'), app, { recursive: true })
await withDependencies(app, await packPerdure(packed))
const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'servers.js'], {
  cwd: app,
  stdio: 'inherit',
})
const [code] = await once(child, 'exit')
await removeFolder(app)
await removeFolder(packed)
process.exitCode = code ?? 1
