/** Draws docs/demo.svg from a real run: `npm run docs:demo`. */
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startInTerminal } from '../start-in-terminal.ts'
import { svgOfRows } from './svg-of-rows.ts'

const columns = 88
const folder = await mkdtemp(join(tmpdir(), 'perdure-picture-'))
const repository = resolve('.')
try {
  for (const name of ['src', 'package.json']) await cp(join(repository, name), join(folder, name), { recursive: true })
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'))
  const rows = await record()
  await writeFile(
    'docs/demo.svg',
    svgOfRows(rows, columns, 'The demo is killed, answered while nothing runs, and started again'),
  )
  console.log(`docs/demo.svg has ${rows.length} lines`)
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** One shell: the demo, a kill from outside while an approval waits, the approval, the demo again. */
async function record() {
  const quietNpm = { npm_config_update_notifier: 'false', npm_config_progress: 'false', npm_config_loglevel: 'error' }
  const env = { PS1: '$ ', PERDURE_DEMO_PACE: '0', ...quietNpm }
  const shell = startInTerminal(['--norc', '--noprofile', '+o', 'emacs'], {
    program: 'bash',
    cwd: folder,
    env,
    columns,
  })
  const enter = '\r'
  await shell.shows(/\$$/)
  shell.type(`npm start${enter}`)
  await shell.shows(/kill -9 \d+[\s\S]*›/)
  shell.type(`refund order 1234${enter}`)
  await shell.shows('approve?')
  process.kill(Number(/kill -9 (\d+)/.exec(shell.text())?.[1]), 'SIGKILL')
  await shell.shows(/Killed[\s\S]*\$$/)
  shell.type(`npm run -s perdure -- approve demo --who kim${enter}`)
  await shell.shows(/Approved[\s\S]*\$$/)
  shell.type(`npm start${enter}`)
  await shell.shows(/approved by kim[\s\S]*Done[^\n]*\n›/)
  const rows = [...shell.model.rows()]
  await shell.kill('SIGKILL')
  return rows
}
