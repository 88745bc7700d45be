import { expect, test } from 'vitest'
import { noAgents, startSession, workingNode } from '../../test/support/working-node.ts'
import { StoreError } from '../base/errors/store-errors.ts'
import { defineFlow } from '../define/define-flow.ts'

const tenant = 'default'
const ref = (id: string) => ({ tenant, id })
const asks = defineFlow({ name: 'f', version: 1, run: (flow) => flow.suspend('go') })
const diverging = defineFlow({ name: 'f', version: 2, run: (flow) => flow.suspend('go') })

/** A step that runs until it is told to stop. */
function endless() {
  const events: string[] = []
  const flow = defineFlow({
    name: 'f',
    version: 1,
    run: (flow, input) =>
      flow.step('work', ({ signal }) => {
        events.push(`${String(input)} runs`)
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(events.push('is stopped'))))
      }),
  })
  return { flow, events }
}

test('what fails for a while is set aside, for longer each time, told as a warning, and taken up when it works again', async () => {
  const { worker, pass, store, meddle, claims, told, types } = workingNode([asks])
  await startSession(store, 's1')
  meddle['pageSince'] = () => {
    throw new StoreError('away')
  }
  worker.startPolling(noAgents)
  await pass(49)
  expect(claims()).toBe(1)
  expect(worker.problemOf(ref('s1'))).toMatchObject({ code: 'store_failed' })
  await pass(1)
  expect(claims()).toBe(2)
  await pass(99)
  expect(claims()).toBe(2)
  meddle['pageSince'] = () => {}
  await pass(1)
  expect(await types('s1')).toEqual(['flow_started', 'flow_opened'])
  expect(worker.problemOf(ref('s1'))).toBe(null)
  expect(told).toEqual(['warn: taking up a conversation failed; trying again'])
  await worker.close(0)
})

test('what it was let go of has its lease given back, so that another node can take it', async () => {
  const { worker, pass, store, meddle, calls } = workingNode([asks], { pollMs: 60_000 })
  await startSession(store, 's1')
  meddle['pageSince'] = () => {
    throw new StoreError('away')
  }
  worker.startPolling(noAgents)
  await pass(0)
  expect(calls.filter(({ method }) => method === 'releaseLease')).toHaveLength(1)
  expect((await store.claimLease('s1', 'another', 1_000)).type).toBe('taken')
  await worker.close(0)
})

test('a lease that cannot be given back is told of, and looked for until it is', async () => {
  const { worker, pass, store, meddle, told } = workingNode([asks], { pollMs: 60_000 })
  await startSession(store, 's1')
  meddle['pageSince'] = () => {
    throw new StoreError('away')
  }
  let failures = 1
  meddle['releaseLease'] = () => {
    if (failures-- > 0) throw new StoreError('away')
  }
  worker.startPolling(noAgents)
  await pass(0)
  expect(told).toContain('warn: a lease could not be released; trying again')
  expect(told).toContain('warn: released a lease whose acknowledgement was lost')
  expect((await store.claimLease('s1', 'another', 1_000)).type).toBe('taken')
  await worker.close(0)
})

test('what the code cannot replay is left alone until its log grows, told as an error, and named to callers who ask', async () => {
  const { worker, pass, store, claims, told } = workingNode([diverging])
  await startSession(store, 's1')
  worker.startPolling(noAgents)
  await pass(100)
  expect(claims()).toBe(1)
  expect(told).toEqual(['error: a conversation cannot be worked on here'])
  expect(worker.problemOf(ref('s1'))).toMatchObject({ code: 'flow_diverged' })
  expect(worker.problemOf(ref('s1'), 1)).toMatchObject({ code: 'flow_diverged' })
  expect(worker.problemOf(ref('s1'), 2)).toBe(null)
  await store.commit('s1', { events: [{ type: 'titled', content: { title: 'T' } }], wakeAt: 'now' })
  await pass(10)
  expect(claims()).toBe(2)
  await worker.close(0)
})

test('a caller that takes what cannot be worked on is told why', async () => {
  const { worker, store } = workingNode([diverging])
  await startSession(store, 's1')
  expect(await worker.take(ref('s1'), 'flow:f')).toMatchObject({ code: 'flow_diverged' })
  await worker.close(0)
})

test('what cannot be read to be left alone is told of, and its lease is given back', async () => {
  const { worker, store, meddle, told } = workingNode([diverging])
  await startSession(store, 's1')
  meddle['getConversation'] = () => {
    throw new StoreError('away')
  }
  await worker.take(ref('s1'), 'flow:f')
  expect(told).toContain('warn: a conversation that cannot be worked on could not be read')
  expect((await store.claimLease('s1', 'another', 1_000)).type).toBe('taken')
  await worker.close(0)
})

test('a code that throws what it must not is told as an error once, and set aside for a second', async () => {
  const { worker, pass, store, meddle, claims, told } = workingNode([asks])
  await startSession(store, 's1')
  meddle['pageSince'] = () => {
    throw new TypeError('a bug')
  }
  worker.startPolling(noAgents)
  await pass(990)
  expect(claims()).toBe(1)
  await pass(10)
  expect(claims()).toBe(2)
  expect(told).toEqual(['error: a conversation cannot be worked on here'])
  await worker.close(0)
})

test('a lease that another node has taken stops what runs under it, and is told of once', async () => {
  const { flow, events } = endless()
  const { worker, pass, store, clock, told } = workingNode([flow], { pollMs: 600_000 })
  await startSession(store, 's1')
  worker.startPolling(noAgents)
  await pass(0)
  expect(events).toEqual(['s1 runs'])
  // As a machine does that slept.
  await clock.set(clock.now() - 1)
  await store.deleteConversation('s1')
  await startSession(store, 's1')
  await store.claimLease('s1', 'another', 600_000)
  await pass(3_001)
  expect(events).toEqual(['s1 runs', 'is stopped'])
  expect(told).toEqual(['warn: a lease was lost: another node has taken the conversation, or it was deleted'])
  await pass(9_000)
  expect(told).toHaveLength(1)
  await worker.close(0)
})

test('what is lost on demand is stopped; what is not held is not', async () => {
  const { flow, events } = endless()
  const { worker, pass, store } = workingNode([flow], { pollMs: 600_000 })
  await startSession(store, 's1')
  worker.startPolling(noAgents)
  await pass(0)
  worker.loseLease({ tenant, id: 'other' })
  await pass(0)
  expect(events).toEqual(['s1 runs'])
  worker.loseLease({ tenant, id: 's1' })
  await pass(0)
  expect(events).toEqual(['s1 runs', 'is stopped'])
  await worker.close(0)
})

test('what is released is let go and left alone by this node until its log grows', async () => {
  const { flow, events } = endless()
  const { worker, pass, store, claims } = workingNode([flow])
  await startSession(store, 's1')
  worker.startPolling(noAgents)
  await pass(0)
  await worker.release(tenant, 's1')
  await worker.release(tenant, 'other')
  expect(events).toEqual(['s1 runs', 'is stopped'])
  await store.commit('s1', { events: [], wakeAt: 'now' })
  await pass(50)
  expect(claims()).toBe(1)
  await store.commit('s1', { events: [{ type: 'titled', content: { title: 'T' } }], wakeAt: 'now' })
  await pass(50)
  expect(claims()).toBe(2)
  const closing = worker.close(0)
  await pass(0)
  await closing
})

test('closing waits for what runs as long as it is told to, keeps its lease meanwhile, and then stops it', async () => {
  const { flow, events } = endless()
  const { worker, pass, store, countOf, types } = workingNode([flow], { pollMs: 600_000 })
  await startSession(store, 's1')
  worker.startPolling(noAgents)
  await pass(0)
  let isClosed = false
  const closing = worker.close(20_000).then(() => (isClosed = true))
  await pass(19_999)
  expect([events, isClosed]).toEqual([['s1 runs'], false])
  expect(countOf('keepLeases')).toBe(6)
  await pass(1)
  await closing
  expect(events).toEqual(['s1 runs', 'is stopped'])
  expect(await types('s1')).toEqual(['flow_started', 'flow_opened'])
  expect((await store.claimLease('s1', 'another', 1_000)).type).toBe('taken')
  await pass(9_000)
  expect(countOf('keepLeases')).toBe(6)
})

test('what is being loaded when the worker closes is let go before it begins', async () => {
  const { flow, events } = endless()
  const { worker, pass, store, meddle } = workingNode([flow], { pollMs: 600_000 })
  await startSession(store, 's1')
  const loaded = Promise.withResolvers<void>()
  meddle['pageSince'] = () => loaded.promise
  worker.startPolling(noAgents)
  await pass(0)
  const closing = worker.close(0)
  await pass(1)
  loaded.resolve()
  await closing
  await pass(0)
  expect(events).toEqual([])
  expect((await store.claimLease('s1', 'another', 1_000)).type).toBe('taken')
})
