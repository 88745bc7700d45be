import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ended, said } from '../../../test/log/story.ts'
import { sqliteStore } from '../../store/sqlite/index.ts'
import type { Command } from '../command.ts'
import { list } from '../commands/list.ts'
import { show } from '../commands/show.ts'
import { createOutput } from '../output.ts'
import { openStoreTarget } from './store-target.ts'

let folder: string
let file: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-target-'))
  file = join(folder, 'agents.db')
  const store = sqliteStore({ path: file })
  for (let n = 0; n < 205; n += 1) await store.putConversation(`ticket-${n}`, { agent: 'support' })
  const turns = Array.from({ length: 105 }, (_, n) => [said(`t${n}`), ended(`t${n}`)])
  await store.commit('long', { events: turns.flat(), conversation: { kind: 'conversation', agent: 'support' } })
  await store.close()
})

afterAll(() => rmSync(folder, { recursive: true }))

/** The JSON document that a command writes. */
async function resultOf(command: Command, args: object) {
  let text = ''
  const stream = { write: (piece: string) => Boolean((text += piece)) } as NodeJS.WriteStream
  const output = createOutput({ isJson: true, isVerbose: false }, { stdout: stream, stderr: stream })
  const interrupted = () => new AbortController().signal
  await command.run({ args: { store: file, ...args } as never, output, interrupted })
  return JSON.parse(text)
}

test('a command lists as many as it is asked for, also more than a server lists at once', async () => {
  const all = await resultOf(list as unknown as Command, { limit: '1000' })
  expect([all.conversations.length, all.before]).toEqual([206, null])
  const most = await resultOf(list as unknown as Command, { limit: '201' })
  expect(most.conversations).toEqual(all.conversations.slice(0, 201))
  const rest = await resultOf(list as unknown as Command, { limit: '1000', before: most.before })
  expect(rest.conversations).toEqual(all.conversations.slice(201))
})

test('and shows as many turns', async () => {
  const seqs = async (turns: string) =>
    (await resultOf(show as unknown as Command, { conversation: 'long', turns })).messages.map(
      ({ seq }: { seq: number }) => seq,
    )
  expect(await seqs('104')).toEqual(Array.from({ length: 104 }, (_, n) => 2 * n + 3))
  expect(await seqs('500')).toHaveLength(105)
})

test('an error of the store reaches the command whole, with the path of the file', async () => {
  const notes = join(folder, 'notes.txt')
  writeFileSync(notes, 'These are notes, and no SQLite database. '.repeat(20))
  const target = await openStoreTarget({ store: notes }, { isVerbose: false })
  await expect(target.conversations()).rejects.toMatchObject({
    code: 'store_failed',
    message: expect.stringContaining(`The store '${notes}' failed`),
  })
  await target.close()
})

test('an aborted signal ends the watching of a store', async () => {
  const target = await openStoreTarget({ store: file }, { isVerbose: false })
  const leaving = new AbortController()
  for await (const { event } of target.conversation('long').watch({ signal: leaving.signal })) {
    expect(event.type).toBe('snapshot')
    leaving.abort()
  }
  await target.close()
})
