import { describe, expect, test } from 'vitest'
import { heldFlow, noAgents, startSession, workingNode } from '../../../test/support/working-node.ts'
import { defineFlow } from '../../define/define-flow.ts'

const tenant = 'default'
const ref = (id: string) => ({ tenant, id })
const asks = defineFlow({ name: 'f', version: 1, run: (flow) => flow.suspend('go') })

describe('a session', () => {
  test('that sleeps for less than a poll is woken when it is due', async () => {
    const sleeps = defineFlow({ name: 'f', version: 1, run: (flow) => flow.sleep(300) })
    const { worker, pass, store, types } = workingNode([sleeps], { pollMs: 500 })
    await startSession(store, 's1')
    worker.startPolling(noAgents)
    await pass(299)
    expect(await types('s1')).toEqual(['flow_started', 'flow_opened'])
    await pass(1)
    expect((await types('s1')).at(-1)).toBe('flow_ended')
    await worker.close(0)
  })

  test('that has grown while it was let go is taken up again at once', async () => {
    const { flow, running, end } = heldFlow()
    const { worker, pass, store, countOf } = workingNode([flow], { pollMs: 60_000 })
    await startSession(store, 's1')
    worker.startPolling(noAgents)
    await pass(0)
    expect(running()).toEqual(['s1'])
    const before = countOf('claimDue')
    worker.hint({ ...ref('s1'), seq: 99 })
    end('s1')
    await pass(0)
    expect(countOf('claimDue')).toBe(before + 1)
    await worker.close(0)
  })

  test('is worked on once at a time, and all who ask wait for the same work', async () => {
    const { flow, running, end } = heldFlow()
    const { worker, pass, store, countOf } = workingNode([flow])
    await startSession(store, 's1')
    expect(await worker.settled(ref('s1'))).toBe(undefined)
    const work = [worker.take(ref('s1'), 'flow:f'), worker.take(ref('s1'), 'flow:f'), worker.settled(ref('s1'))]
    await pass(0)
    expect([running(), countOf('claimLease')]).toEqual([['s1'], 1])
    end('s1')
    expect(await Promise.all(work)).toEqual([undefined, undefined, undefined])
    await worker.close(0)
  })

  test('that was claimed while the last places were taken is given back, and found again when there is room', async () => {
    const { flow, running, end } = heldFlow()
    const { worker, pass, store, meddle, types } = workingNode([flow], { maxConcurrentTurns: 2, pollMs: 60_000 })
    for (const id of ['s1', 's2', 's3']) await startSession(store, id)
    const answer = Promise.withResolvers<void>()
    meddle['claimDue'] = () => answer.promise
    worker.startPolling(noAgents)
    await pass(0)
    // The search has asked for two, and then finds one.
    const work = ['s2', 's3'].map((id) => worker.take(ref(id), 'flow:f'))
    await pass(0)
    answer.resolve()
    await pass(0)
    expect(running()).toEqual(['s2', 's3'])
    end('s2')
    await work[0]
    await pass(0)
    expect(running()).toEqual(['s2', 's3', 's1'])
    for (const id of ['s1', 's3']) end(id)
    await pass(0)
    expect((await types('s1')).at(-1)).toBe('flow_ended')
    await worker.close(0)
  })

  test('of a flow that this node has not is left to others', async () => {
    const { worker, store, countOf } = workingNode([asks])
    await startSession(store, 's1', 'other')
    expect(await worker.take(ref('s1'), 'flow:other')).toBe(undefined)
    expect(countOf('claimLease')).toBe(0)
    await worker.close(0)
  })

  test('that a commit gave with its lease is worked on under that lease', async () => {
    const { worker, pass, store, countOf, types } = workingNode([asks])
    const request = worker.requestLease(ref('s1'), 'flow:f')
    const acquire = request.acquire()
    expect(acquire).toMatchObject({ acquire: { ttlMs: 9_000, suspects: false } })
    const result = await request.during(() =>
      store.commit('s1', {
        events: [{ type: 'flow_started', content: { flow: 'f', version: '1', input: null, who: 'ann' } }],
        conversation: { kind: 'flow', agent: 'flow:f' },
        ...acquire,
      }),
    )
    await pass(0)
    expect(await types('s1')).toEqual(['flow_started'])
    worker.start(request, request.granted(result))
    await pass(0)
    expect(await types('s1')).toEqual(['flow_started', 'flow_opened'])
    expect(countOf('claimLease')).toBe(0)
    await worker.close(0)
  })

  test('is not asked for with a commit where there is no room, no code, or the worker is closed', async () => {
    const { flow, end } = heldFlow()
    const { worker, pass, store } = workingNode([flow], { maxConcurrentTurns: 1 })
    const wished = async (id: string, name: string | null) => Object.keys(worker.requestLease(ref(id), name).acquire())
    expect(await wished('s0', null)).toEqual([])
    await startSession(store, 's1')
    void worker.take(ref('s1'), 'flow:f')
    await pass(0)
    expect(await wished('s2', 'flow:f')).toEqual([])
    expect(await wished('s1', 'flow:f')).toEqual([])
    end('s1')
    await pass(0)
    expect(await wished('s2', 'flow:f')).toEqual(['acquire'])
    await worker.close(0)
    expect(await wished('s2', 'flow:f')).toEqual([])
  })

  test('whose commit was refused is looked for, not taken', async () => {
    const { worker, pass, countOf } = workingNode([asks], { pollMs: 60_000 })
    const refused = worker.requestLease(ref('s1'), 'flow:f').during(() => Promise.reject(new Error('no')))
    await expect(refused).rejects.toThrow('no')
    await pass(0)
    expect([countOf('claimDue'), countOf('claimLease'), countOf('keepLeases')]).toEqual([1, 0, 0])
    const request = worker.requestLease(ref('s1'), 'flow:f')
    const lost = request.during(async () => {
      request.acquire()
      throw new Error('lost')
    })
    await expect(lost).rejects.toThrow('lost')
    await pass(0)
    // Its lease may have been given.
    expect(countOf('keepLeases')).toBe(1)
    const unnamed = worker.requestLease(ref('s1'), null).during(() => Promise.reject(new Error('no')))
    await expect(unnamed).rejects.toThrow('no')
    await pass(0)
    expect(countOf('claimDue')).toBe(2)
    await worker.close(0)
  })

  test('whose lease came too late is given back', async () => {
    const { worker, pass, store } = workingNode([asks])
    await startSession(store, 's1')
    const claimed = await store.claimLease('s1', 'one', 60_000)
    if (claimed.type !== 'taken') throw new Error(claimed.type)
    await worker.close(0)
    const lease = { epoch: claimed.epoch, askedAt: { monotonicMs: 0, nowMs: 0 }, known: null }
    await worker.take(ref('s1'), 'flow:f', lease)
    expect((await store.claimLease('s1', 'two', 60_000)).type).toBe('taken')
    await pass(0)
  })
})
