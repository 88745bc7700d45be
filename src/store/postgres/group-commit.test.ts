import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { StoreError } from '../../base/errors/store-errors.ts'
import type { Change } from '../change.ts'
import { prepareChange } from '../prepare-change.ts'
import type { BatchOutcome } from './commit-change.ts'
import type { Addressed } from './commit-query.ts'
import { CommitBatcher } from './group-commit.ts'

type Send = (batch: readonly Addressed[]) => Promise<BatchOutcome[]>

const ok = (batch: readonly Addressed[]): BatchOutcome[] => batch.map(() => ({ type: 'ok', seq: 1 }))
const lost = () => new StoreError('lost', { ambiguous: true })

function batching(send: Send, { lanes = 2, maxChanges = 3 } = {}) {
  const sent: string[][] = []
  const batcher = new CommitBatcher({
    lanes,
    maxChanges,
    send: (batch) => {
      sent.push(batch.map(({ id }) => id))
      return send(batch)
    },
  })
  const commit = (id: string, change: Partial<Change> = {}) =>
    batcher.commit({
      tenant: 'default',
      id,
      change: prepareChange({ events: [{ type: 'titled', content: { title: id } }], ...change }),
    })
  return { sent, commit }
}

describe('gathering', () => {
  test('commits of one tick go together, up to the size of a batch', async () => {
    const { sent, commit } = batching(async (batch) => ok(batch))
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => commit(id)))
    expect(sent).toEqual([['a', 'b', 'c'], ['d']])
  })

  test('a commit that comes after that tick does not wait for the batch under way', async () => {
    const gate = Promise.withResolvers<void>()
    const { sent, commit } = batching((batch) => gate.promise.then(() => ok(batch)))
    const first = commit('a')
    await expect.poll(() => sent).toHaveLength(1)
    const second = commit('b')
    await expect.poll(() => sent).toHaveLength(2)
    expect(sent).toEqual([['a'], ['b']])
    gate.resolve()
    await Promise.all([first, second])
  })

  test('while all lanes are busy commits gather, and go as soon as one is free', async () => {
    const gate = Promise.withResolvers<void>()
    const { sent, commit } = batching((batch) => gate.promise.then(() => ok(batch)), { lanes: 1 })
    const first = commit('a')
    await expect.poll(() => sent).toHaveLength(1)
    const later = ['b', 'c'].map((id) => commit(id))
    await sleep(5)
    expect(sent).toEqual([['a']])
    gate.resolve()
    await Promise.all([first, ...later])
    expect(sent).toEqual([['a'], ['b', 'c']])
  })

  test('large events are not all put into one batch', async () => {
    const { sent, commit } = batching(async (batch) => ok(batch), { maxChanges: 64 })
    const events = [{ type: 'seeded' as const, content: { state: 'x'.repeat(1_000_000) } }]
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => commit(id, { events })))
    expect(sent).toEqual([['a', 'b', 'c'], ['d']])
  })
})

describe('failing', () => {
  test('each gets its own outcome', async () => {
    const { commit } = batching(async () => [{ type: 'missing' }, { type: 'ok', seq: 7 }])
    expect(await Promise.all([commit('a'), commit('b')])).toEqual([{ type: 'missing' }, { type: 'ok', seq: 7 }])
  })

  test('what makes the statement fail fails alone', async () => {
    const bad = new StoreError('bad', { retryable: false })
    const { commit } = batching(async (batch) => {
      if (batch.some(({ id }) => id === 'b')) throw bad
      return ok(batch)
    })
    const results = await Promise.allSettled(['a', 'b', 'c'].map((id) => commit(id)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('a failure that no change of the batch caused rejects all of them at once', async () => {
    const { sent, commit } = batching(async () => {
      throw new StoreError('down')
    })
    const results = await Promise.allSettled(['a', 'b'].map((id) => commit(id)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(sent).toEqual([['a', 'b']])
  })

  test('a lost answer rejects as ambiguous without a key, and is asked for again with one', async () => {
    let isFirst = true
    const { sent, commit } = batching(async (batch) => {
      if (!isFirst) return ok(batch)
      isFirst = false
      throw lost()
    })
    const [keyed, unkeyed] = await Promise.allSettled([commit('a', { key: 'k' }), commit('b')])
    expect(keyed).toEqual({ status: 'fulfilled', value: { type: 'ok', seq: 1 } })
    expect(unkeyed).toMatchObject({ status: 'rejected', reason: { code: 'store_failed', ambiguous: true } })
    expect(sent).toEqual([['a', 'b'], ['a']])
  })

  test('once an answer was lost, only an answer makes it certain', async () => {
    let isFirst = true
    const { commit } = batching(async () => {
      const error = isFirst ? lost() : new StoreError('down')
      isFirst = false
      throw error
    })
    await expect(commit('a', { key: 'k' })).rejects.toMatchObject({ ambiguous: true })
  })

  test('attributes alone are set again without a key, but not under a condition', async () => {
    let fails = 2
    const { commit } = batching(async (batch) => {
      fails -= 1
      if (fails >= 0) throw lost()
      return ok(batch)
    })
    const attributes = { events: [], conversation: { agent: 'x' } }
    await expect(commit('a', { ...attributes, expectedSeq: 0 })).rejects.toMatchObject({ ambiguous: true })
    expect(await commit('a', attributes)).toEqual({ type: 'ok', seq: 1 })
  })
})
