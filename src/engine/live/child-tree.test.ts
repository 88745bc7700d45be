import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { called, replied, said, stateOf, suspended } from '../../../test/log/story.ts'
import { systemClock } from '../../base/clock.ts'
import { childIdOf } from '../../log/child-call.ts'
import type { ConversationState } from '../../log/state.ts'
import type { Listener } from './channel.ts'
import { ChildTree } from './child-tree.ts'
import type { Channels } from './log-poll.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** Waits for the children of these calls. */
const waitingFor = (...calls: string[]): ConversationState =>
  stateOf([
    said('t1'),
    replied('t1', 'm1', 1, { calls }),
    ...calls.map((callId) => called(callId, { executor: 'agent' })),
    ...calls.map((callId) => suspended(callId, 'sub_agent')),
  ])

function followed(logs: Record<string, ConversationState>) {
  const listeners = new Map<string, Listener>()
  const done: string[] = []
  const failing = new Set<string>()
  const channels = {
    clock: systemClock,
    of: (_tenant: string, id: string) => ({
      get state() {
        return logs[id] ?? stateOf([])
      },
      listen: (listener: Listener) => {
        done.push(`listen ${id}`)
        listeners.set(id, listener)
        return () => {
          done.push(`leave ${id}`)
          listeners.delete(id)
        }
      },
      refresh: async () => {
        if (failing.has(id)) throw new Error('away')
      },
    }),
    tidy: (_tenant: string, id: string) => void done.push(`tidy ${id}`),
  } as unknown as Channels
  let changes = 0
  const tree = new ChildTree(channels, 't', () => void (changes += 1))
  return { tree, logs, listeners, done, failing, changes: () => changes }
}

const [one, two, three] = ['c1', 'c2', 'c3'].map(childIdOf) as [string, string, string]

test('the children that are waited for are followed with theirs, each once, and told of when they change', async () => {
  const { tree, logs, listeners, done, changes } = followed({ [one]: waitingFor('c3') })
  const state = waitingFor('c1', 'c2')
  await tree.read(state)
  expect(done).toEqual([`listen ${one}`, `listen ${two}`, `listen ${three}`])
  const read = changes()
  expect(read).toBe(3)
  logs[two] = waitingFor()
  listeners.get(two)!.appended([])
  expect(changes()).toBe(read + 1)
  listeners.get(two)!.replaced({} as never)
  expect(changes()).toBe(read + 2)
  tree.children('p', state)
  expect(done).toHaveLength(3)
})

test('those that are waited for no longer are let go of, with theirs', async () => {
  const { tree, listeners, done } = followed({ [one]: waitingFor('c3') })
  await tree.read(waitingFor('c1', 'c2'))
  tree.children('p', waitingFor('c2'))
  expect(done.slice(3).toSorted()).toEqual([`leave ${one}`, `leave ${three}`, `tidy ${one}`, `tidy ${three}`])
  expect([...listeners.keys()]).toEqual([two])
  tree.stop()
  expect(listeners.size).toBe(0)
  expect(done.at(-1)).toBe(`tidy ${two}`)
})

test('one that cannot be read is left, counts as running, and is read again half a second later', async () => {
  const { tree, done, failing, changes } = followed({ [one]: waitingFor('c3') })
  failing.add(one)
  await tree.read(waitingFor('c1'))
  expect([done, changes()]).toEqual([[`listen ${one}`, `leave ${one}`, `tidy ${one}`], 0])
  failing.delete(one)
  vi.advanceTimersByTime(499)
  expect(done).toHaveLength(3)
  vi.advanceTimersByTime(1)
  expect(done.at(-1)).toBe(`listen ${one}`)
  await tree.read(waitingFor('c1'))
  expect(changes()).toBeGreaterThan(0)
})

test('one that cannot be read any more counts as running, whatever it waited for', async () => {
  const asking = stateOf([
    said('t1'),
    replied('t1', 'm9', 1, { calls: ['c9'] }),
    called('c9', { gated: true }),
    suspended('c9', 'approval'),
  ])
  const { tree, listeners } = followed({ [one]: asking })
  const state = waitingFor('c1')
  await tree.read(state)
  expect(tree.children('p', state)).toMatchObject({ waiting: ['c1'], pending: [{ callId: 'c9' }] })
  listeners.get(one)!.failed(new Error('away'))
  expect(tree.children('p', state)).toEqual({ waiting: [], pending: [] })
})

test('one that failed and is not waited for any more is not read again', async () => {
  const { tree, listeners, done } = followed({})
  await tree.read(waitingFor('c1'))
  listeners.get(one)!.failed(new Error('away'))
  tree.children('p', waitingFor())
  const before = done.length
  vi.advanceTimersByTime(1_000)
  expect(done).toHaveLength(before)
})

test('a change of one that has not been read yet is not told', async () => {
  const { tree, listeners, changes } = followed({})
  const reading = tree.read(waitingFor('c1'))
  listeners.get(one)!.appended([])
  expect(changes()).toBe(0)
  await reading
  expect(changes()).toBe(1)
})

test('one that failed is not read again after the stop', async () => {
  const { tree, listeners, done } = followed({})
  await tree.read(waitingFor('c1'))
  listeners.get(one)!.failed(new Error('away'))
  tree.stop()
  const before = done.length
  vi.advanceTimersByTime(1_000)
  expect(done).toHaveLength(before)
})

test.each([false, true])(
  'what is read of one that is waited for no longer is not told, and may fail: %s',
  async (fails) => {
    for (const isStopped of [false, true]) {
      const { tree, failing, changes, done } = followed({})
      if (fails) failing.add(one)
      tree.children('p', waitingFor('c1'))
      if (isStopped) tree.stop()
      else tree.children('p', waitingFor())
      await new Promise((resolve) => setImmediate(resolve))
      vi.advanceTimersByTime(1_000)
      expect([done, changes()]).toEqual([[`listen ${one}`, `leave ${one}`, `tidy ${one}`], 0])
    }
  },
)
