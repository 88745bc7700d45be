import { expect, test } from 'vitest'
import { emptyState } from '../log/state.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import type { TenantStore } from '../store/store.ts'
import { assistantMsg, turnEnded, userMsg } from '../testing/conformance/event-builders.ts'
import { findReplaced } from './replace-turn.ts'

const turns = 200

/** A long log, of which this process shows the newest turn alone, and how many events of it were read. */
async function longLog() {
  const store = memoryStore()
  for (let n = 1; n <= turns; n++) {
    const [turnId, messageId] = [`turn-${n}`, `message-${n}`]
    for (const event of [userMsg('Hi', turnId), assistantMsg(undefined, { turnId, messageId }), turnEnded(turnId)])
      await store.appendEvent('chat', event)
  }
  let read = 0
  const pageEvents: TenantStore['pageEvents'] = async (...args) => {
    const page = await store.pageEvents(...args)
    read += [...page.events].length
    return page
  }
  const counting = new Proxy<TenantStore>(store, {
    get(target, name) {
      const member: unknown = name === 'pageEvents' ? pageEvents : Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const shown = { ...emptyState, lastSeq: 3 * turns, hasOlder: true }
  return { log: { id: 'chat', store: counting, state: async () => shown }, read: () => read }
}

test('for a turn that was never there, a long log is read once, and is not held', async () => {
  const { log, read } = await longLog()
  const replacing = { turnId: 'never', force: false }
  await expect(findReplaced(log, replacing)).rejects.toMatchObject({ code: 'turn_not_found' })
  expect(read()).toBe(3 * turns)
})

test('a turn that is not shown is found in the log', async () => {
  const { log } = await longLog()
  const { turn, lastSeq } = await findReplaced(log, { turnId: 'turn-7', force: false })
  expect([turn.turnId, turn.firstSeq, lastSeq]).toEqual(['turn-7', 19, 3 * turns])
})
