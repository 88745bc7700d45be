import { expect, test } from 'vitest'
import type { Logger } from '../../base/logger.ts'
import { silentLogger } from '../../base/logger.ts'
import type { Store } from '../../store/store.ts'
import { TurnWaiters } from './turn-outcome.ts'

const chat = { tenant: 'acme', id: 'chat' }
const session = { tenant: 'acme', id: 'session' }
const other = { tenant: 'acme', id: 'other' }
const settled = () => new Promise((resolve) => setImmediate(resolve))

function waiters(letGo: () => Promise<unknown> = async () => {}, commit: () => Promise<void> = async () => {}) {
  const done: string[] = []
  const store = {
    forTenant: (tenant: string) => ({
      commit: async (id: string, change: unknown) => {
        await commit()
        done.push(`woke ${tenant}/${id} ${JSON.stringify(change)}`)
      },
    }),
  } as unknown as Store
  const warned: unknown[] = []
  const logger: Logger = {
    ...silentLogger,
    warn: (message, fields) => {
      done.push(`${message} ${String(fields?.['id'])}`)
      warned.push(fields)
    },
  }
  const turns = new TurnWaiters(store, logger, async ({ id }) => {
    await letGo()
    done.push(`let go of ${id}`)
  })
  return { turns, done, warned }
}

const woken = (id: string) => [`let go of ${id}`, `woke acme/${id} {"events":[],"wakeAt":"now"}`]

test('a session is woken once, after it was let go, when the turn it waits for has ended', async () => {
  const { turns, done } = waiters()
  let hasEnded = false
  turns.wait(chat, session, async () => hasEnded)
  turns.hint(chat)
  await settled()
  expect(done).toEqual([])
  hasEnded = true
  turns.hint(other)
  await settled()
  expect(done).toEqual([])
  turns.hint(chat)
  await settled()
  expect(done).toEqual(woken('session'))
  turns.hint(chat)
  await settled()
  expect(done).toHaveLength(2)
})

test('several sessions wait for one conversation, each for its own turn', async () => {
  const { turns, done } = waiters()
  let hasEnded = false
  turns.wait(chat, session, async () => true)
  turns.wait(chat, other, async () => hasEnded)
  turns.hint(chat)
  await settled()
  expect(done).toEqual(woken('session'))
  hasEnded = true
  turns.hint(chat)
  await settled()
  expect(done.slice(2)).toEqual(woken('other'))
})

test('a session that waits again waits for what it said last', async () => {
  const { turns, done } = waiters()
  turns.wait(chat, session, async () => true)
  turns.wait(chat, session, async () => false)
  turns.hint(chat)
  await settled()
  expect(done).toEqual([])
})

test('one that cannot be woken is told of, and the others are', async () => {
  const { turns, done, warned } = waiters()
  turns.wait(chat, session, () => Promise.reject(new Error('down')))
  turns.wait(chat, other, async () => true)
  turns.hint(chat)
  await settled()
  expect(done).toEqual(
    expect.arrayContaining(['a session could not be woken; it looks again by itself session', ...woken('other')]),
  )
  expect(warned).toEqual([{ ...session, error: new Error('down') }])
})
