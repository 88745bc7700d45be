import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, createScope, defineAgent, type Scope } from 'perdure'
import { sqliteStore } from 'perdure/sqlite'
import { scriptedModel } from 'perdure/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { perdure, repository, startPerdure } from '../cli/perdure.ts'
import { openedPages, studioTest } from './opened-pages.ts'

const pages = openedPages()
let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-started-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a clone without a build of the studio builds it once, and says so', () => {
  for (const name of ['studio', 'src', 'package.json', 'tsconfig.json'])
    cpSync(join(repository, name), join(folder, name), { recursive: true })
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
  const prepare = () =>
    spawnSync(process.execPath, [join(folder, 'studio', 'build-if-missing.js')], { cwd: folder, encoding: 'utf8' })
  const first = prepare()
  expect(first.stderr).toContain('Building the studio, once. This takes some seconds.')
  expect([first.status, existsSync(join(folder, 'dist', 'studio', 'index.html'))]).toEqual([0, true])
  expect(prepare()).toMatchObject({ status: 0, stderr: '' })
})

studioTest('the address that `perdure studio file.jsonl` prints shows the conversations of the file', async () => {
  const storeFile = join(folder, 'store.db')
  const store = sqliteStore({ path: storeFile })
  const agents = [defineAgent({ name: 'support', model: scriptedModel('The lamp is on its way.') })] as const
  const runtime = createRuntime({ agents, store })
  const talk = runtime.as(createScope({ user: 'ann' }) as Scope).conversation('ticket-1', { agent: 'support' })
  await (await talk.send('Where is my lamp?')).outcome()
  await runtime.close()
  await store.close()
  const file = join(folder, 'shop.jsonl')
  const exported = await perdure(['export', file, '--store', storeFile], { cwd: folder })
  expect(exported.stderr).not.toMatch(/error/i)

  const running = startPerdure(['studio', file, '--json'], { cwd: folder })
  const close = async (): Promise<void> => {
    running.process.kill('SIGKILL')
    await running.ended
  }
  await pages.during({ close }, async () => {
    let text = ''
    running.process.stdout.on('data', (more: string) => {
      text += more
    })
    await running.until('\n')
    const { studio } = JSON.parse(text.split('\n')[0]!) as { readonly studio: string }
    const { page } = await pages.open(new URL(studio).origin)
    await page.goto(studio)
    await page.getByText('ticket-1').first().click()
    await page.getByText('The lamp is on its way.').last().waitFor()
  })
})
