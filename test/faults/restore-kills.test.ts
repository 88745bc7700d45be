import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { snapshotFailpoints } from '../../src/base/failpoint.ts'
import { examineStore } from '../../src/upkeep/index.ts'
import { checkHistory } from '../log/check-history.ts'
import { type Child, spawnChild } from './harness/spawn-child.ts'
import { openStore, type StoreName } from './harness/target.ts'
import { type Place, withFolder, withTarget } from './harness/with-target.ts'
import type { ChildInput } from './restore-kills/child.ts'
import { approveRestored, startLife } from './restore-kills/life.ts'

const timeout = 180_000
const restores = snapshotFailpoints.filter((name) => name.startsWith('restore.'))
const deletes = snapshotFailpoints.filter((name) => name.startsWith('delete.'))

const placeOf = (store: StoreName): Place =>
  store === 'sqlite' ? { store } : { store, postgresUrl: inject('postgresUrl') }

async function killed(input: ChildInput): Promise<void> {
  const child: Child = spawnChild({
    script: new URL('./restore-kills/child.ts', import.meta.url),
    input,
    onMessage: () => {},
  })
  const { signal, complaint } = await child.ended
  expect([signal, complaint]).toEqual(['SIGKILL', ''])
}

for (const store of ['sqlite', 'postgres'] as const) {
  for (const at of restores) {
    test(`a process killed at ${at} leaves a conversation that the next one restores once (${store})`, {
      timeout,
    }, async () => {
      await withFolder(async (folder) => {
        // The process that asked is killed too, and its store is lost.
        await withTarget(placeOf(store), (target) => killed({ target, folder, does: 'ask', at: null }))
        await withTarget(placeOf(store), async (target) => {
          await killed({ target, folder, does: 'restore', at })
          const opened = await openStore(target)
          const life = startLife(opened, folder)
          await approveRestored(life)
          const events = await life.chat.events()
          expect(await life.chat.outcome()).toMatchObject({ status: 'completed', text: 'Paid.' })
          expect(events.filter(({ type }) => type === 'restored')).toHaveLength(1)
          checkHistory(events)
          expect(readFileSync(join(folder, 'paid'), 'utf8').trim().split('\n')).toHaveLength(1)
          await life.runtime.close()
          expect((await examineStore(opened)).faults).toBe(0)
          await opened.close()
        })
      })
    })
  }

  for (const at of deletes) {
    test(`a deletion killed at ${at} can be repeated, and nothing comes back (${store})`, { timeout }, async () => {
      await withFolder(async (folder) => {
        await withTarget(placeOf(store), async (target) => {
          await killed({ target, folder, does: 'delete', at })
          expect(existsSync(join(folder, 'snapshot.json'))).toBe(false)
          const opened = await openStore(target)
          const life = startLife(opened, folder)
          expect(await life.chat.delete()).toBe(at === 'delete.after_state')
          await expect(life.chat.continue()).rejects.toMatchObject({ code: 'conversation_not_found' })
          await life.runtime.close()
          await opened.close()
        })
      })
    })
  }
}
