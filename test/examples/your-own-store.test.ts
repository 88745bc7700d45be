import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { journalStore } from '../../examples/your-own-store.ts'
import { testStore } from '../../src/testing/test-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-'))
let count = 0
const open = () => journalStore(join(folder, `${count}.jsonl`))
const create = () => {
  count += 1
  return open()
}
const reopen = async (store: Awaited<ReturnType<typeof open>>) => {
  await store.close()
  return open()
}
afterAll(() => rmSync(folder, { recursive: true }))
// The suite has listeners that throw and events that are large; what is logged about them is tested elsewhere.
vi.spyOn(console, 'warn').mockReturnValue()
vi.spyOn(console, 'error').mockReturnValue()
testStore({ describe, test, expect, afterAll }, { create, reopen, destroy: (store) => store.close() })

test('half an entry at the end of the journal, as a crash leaves it, loses nothing', async () => {
  const store = await create()
  await store.putConversation('c', { title: 'kept' })
  await store.close()
  appendFileSync(join(folder, `${count}.jsonl`), '{"at":1,"id":"x","method":"putSnapsh')
  for (const title of ['kept', 'written after']) {
    const again = await open()
    expect((await again.getConversation('c'))?.title).toBe(title)
    await again.putConversation('c', { title: 'written after' })
    await again.close()
  }
})
