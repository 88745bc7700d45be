import { expect, test } from 'vitest'
import { silentLogger } from '../base/logger.ts'
import { defineFlow } from '../define/define-flow.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { createRuntime } from './create-runtime.ts'

const ask = defineFlow({ name: 'ask', version: 1, run: (flow) => flow.suspend('go?') })
const other = defineFlow({ name: 'other', version: 1, run: async () => 1 })

/** A node that works, and one that only takes requests. */
function nodes() {
  const store = memoryStore()
  const shared = { agents: [], flows: [ask, other], store, logger: silentLogger }
  return { store, worker: createRuntime(shared), front: createRuntime({ ...shared, work: false }) }
}

test('a fork is listed as idle until it is continued, and is active and due from then on', async () => {
  const { store, worker, front } = nodes()
  await worker.flow(ask, 's1').start(null)
  await worker.flow(ask, 's1').fork('s2')
  await worker.flow(ask, 's1').fork('s3', { at: 1 })
  await worker.close()
  const listed = async (id: string) => (await store.getConversation(id))?.status
  expect([await listed('s2'), await listed('s3')]).toEqual(['idle', 'idle'])
  expect(await store.dueWork({ agents: ['flow:ask'], limit: 9 })).toEqual([])

  expect(await front.flow(ask, 's3').continue()).toEqual({ status: 'running', elsewhere: true })
  expect(await listed('s3')).toBe('active')
  expect(await store.dueWork({ agents: ['flow:ask'], limit: 9 })).toEqual([{ tenant: 'default', id: 's3' }])
  await front.close()
})

test('a session that has started is active and of its flow before anything has worked on it', async () => {
  const { store, worker, front } = nodes()
  await worker.close()
  expect(await front.flow(ask, 's1').start(null)).toEqual({ status: 'running', elsewhere: true })
  const impatient = AbortSignal.abort(new Error('not waiting'))
  await expect(front.flow(ask, 's1').outcome({ signal: impatient })).rejects.toThrow('not waiting')
  expect(await store.getConversation('s1')).toMatchObject({ kind: 'flow', agent: 'flow:ask', status: 'active' })
  expect(await front.flow(ask, 's1').status()).toBe('running')
  expect(await front.flow(ask, 's1').pending()).toBe(null)
  await front.close()
})

test('a session is none for a handle of another flow', async () => {
  const { worker, front } = nodes()
  await worker.flow(ask, 's1').start(null)
  const wrong = front.flow(other, 's1')
  expect([await wrong.status(), await wrong.pending(), await wrong.suspensions(), await wrong.result()]).toEqual([
    'none',
    null,
    [],
    null,
  ])
  expect(await wrong.record()).toBe(null)
  expect(await wrong.delete()).toBe(false)
  for (const verb of [() => wrong.continue(), () => wrong.resume(1), () => wrong.fork('s2')])
    await expect(verb()).rejects.toMatchObject({ code: 'no_session' })
  expect(await front.flow(ask, 's1').status()).toBe('waiting')
  expect(await front.flow(ask, 's1').delete()).toBe(true)
  expect(await front.flow(ask, 's1').status()).toBe('none')
  await Promise.all([worker.close(), front.close()])
})

test('a key that answered a session answers no handle of another flow', async () => {
  const { worker, front } = nodes()
  await worker.flow(ask, 's1').start(null)
  await worker.flow(ask, 's1').resume(1, { key: 'k1' })
  expect(await worker.flow(ask, 's1').resume(1, { key: 'k1' })).toEqual({ status: 'done', result: 1 })
  await expect(worker.flow(other, 's1').resume(1, { key: 'k1' })).rejects.toMatchObject({ code: 'no_session' })
  await Promise.all([worker.close(), front.close()])
})

test('a result is there once it is done, and a session that failed has none', async () => {
  const { worker, front } = nodes()
  await worker.flow(ask, 's1').start(null)
  expect(await worker.flow(ask, 's1').result()).toBe(null)
  expect(await worker.flow(ask, 's1').resume(7)).toEqual({ status: 'done', result: 7 })
  expect(await worker.flow(ask, 's1').result()).toBe(7)
  expect(await worker.flow(ask, 's1').suspensions()).toEqual([])
  await Promise.all([worker.close(), front.close()])
})
