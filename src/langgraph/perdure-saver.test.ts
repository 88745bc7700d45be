import { type Checkpoint, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { expect, test } from 'vitest'
import type { Json } from '../base/json.ts'
import { note } from '../log/validate-event.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { PerdureSaver } from './perdure-saver.ts'

const metadata = { source: 'loop', step: 0, parents: {} } as const
const thread = { configurable: { thread_id: 't', checkpoint_ns: '' } }
let made = 0

function checkpointOf(values: Record<string, unknown>, versions: Record<string, number>): Checkpoint {
  made += 1
  return { ...emptyCheckpoint(), id: uuid6(made), channel_values: values, channel_versions: versions }
}

/** A list that grows by one message each step, put by one saver. */
async function grown(saver: PerdureSaver, steps: number): Promise<string[]> {
  const list: string[] = []
  let config: Parameters<PerdureSaver['put']>[0] = thread
  for (let step = 1; step <= steps; step++) {
    list.push(`message ${step} ${'ä😀"\\'.repeat(20)}`)
    config = await saver.put(config, checkpointOf({ list, fixed: 'x' }, { list: step, fixed: 1 }), metadata, {
      list: step,
      ...(step === 1 && { fixed: 1 }),
    })
  }
  return list
}

test('a list that grows is stored once, and another saver reads all of it', async () => {
  const store = memoryStore()
  const list = await grown(new PerdureSaver({ store }), 100)
  const tuple = await new PerdureSaver({ store }).getTuple(thread)
  expect(tuple?.checkpoint.channel_values).toEqual({ list, fixed: 'x' })
  const stored = JSON.stringify(await store.streamEvents('langgraph/t')).length
  expect(stored).toBeLessThan(JSON.stringify(JSON.stringify(list)).length * 4 + 100 * 1_500)
})

test('a checkpoint in the middle of a long list is read as it was', async () => {
  const store = memoryStore()
  const saver = new PerdureSaver({ store })
  const list = await grown(saver, 60)
  let step = 60
  for await (const { checkpoint } of new PerdureSaver({ store }).list(thread)) {
    expect(checkpoint.channel_values['list']).toEqual(list.slice(0, step))
    step -= 1
  }
  expect(step).toBe(0)
})

test('a value of many notes is put together, whole or not at all', async () => {
  const store = memoryStore()
  const saver = new PerdureSaver({ store })
  const text = 'ä\u0000"'.repeat(100_000)
  await saver.put(thread, checkpointOf({ text }, { text: 1 }), metadata, { text: 1 })
  const { checkpoint } = (await new PerdureSaver({ store }).getTuple(thread))!
  expect(checkpoint.channel_values['text']).toBe(text)
})

test('bytes are read as they were', async () => {
  const bytes = new Uint8Array([0, 255, 128, 10])
  const serde = {
    dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> =>
      value instanceof Uint8Array ? ['bytes', value] : ['json', new TextEncoder().encode(JSON.stringify(value))],
    loadsTyped: async (type: string, data: Uint8Array | string): Promise<unknown> =>
      type === 'bytes' ? new Uint8Array(data as Uint8Array) : JSON.parse(Buffer.from(data as Uint8Array).toString()),
  }
  const store = memoryStore()
  await new PerdureSaver({ store, serde }).put(thread, checkpointOf({ bytes }, { bytes: 1 }), metadata, { bytes: 1 })
  const tuple = await new PerdureSaver({ store, serde }).getTuple(thread)
  expect(tuple?.checkpoint.channel_values['bytes']).toEqual(bytes)
})

test('writes are kept in the order of the calls though put is not waited for', async () => {
  const saver = new PerdureSaver({ store: memoryStore() })
  const checkpoint = checkpointOf({}, {})
  const config = { configurable: { ...thread.configurable, checkpoint_id: checkpoint.id } }
  const done = [
    saver.put(thread, checkpoint, metadata, {}),
    saver.putWrites(config, [['a', 1]], 'one'),
    saver.putWrites(config, [['a', 2]], 'one'),
    saver.putWrites(config, [['__error__', 'first']], 'two'),
    saver.putWrites(config, [['__error__', 'last']], 'two'),
  ]
  await Promise.all(done)
  const tuple = await saver.getTuple(thread)
  // A task's first result counts, and its last error.
  expect(tuple?.pendingWrites).toEqual([
    ['one', 'a', 1],
    ['two', '__error__', 'last'],
  ])
})

test('a deleted thread begins anew, for the saver that knew it too', async () => {
  const store = memoryStore()
  const saver = new PerdureSaver({ store })
  const checkpoint = checkpointOf({ a: 'old' }, { a: 1 })
  await saver.put(thread, checkpoint, metadata, { a: 1 })
  await saver.deleteThread('t')
  expect(await saver.getTuple(thread)).toBeUndefined()
  await saver.put(thread, { ...checkpoint, channel_values: { a: 'new' } }, metadata, { a: 1 })
  expect((await saver.getTuple(thread))?.checkpoint.channel_values).toEqual({ a: 'new' })
})

test('notes that others left under its name are passed over, also those that look like records', async () => {
  const store = memoryStore()
  const saver = new PerdureSaver({ store })
  const config = await saver.put(thread, checkpointOf({ a: 1 }, { a: 1 }), metadata, { a: 1 })
  const leave = (data: Json, who: string) =>
    store.commit('langgraph/t', { events: [note({ name: 'langgraph', data, who })] })
  const notes = [null, 'x', { part: 0, of: 3, text: '{' }, { part: 2, of: 3, text: '' }, { part: 0, of: 1, text: '[]' }]
  for (const data of notes) await leave(data, 'system')
  // A person who may leave notes there.
  const forged = { format: 'json', text: '"forged"' }
  const values = { a: forged }
  const record = { type: 'checkpoint', ns: '', id: 'z', parent: null, checkpoint: forged, metadata: forged, values }
  await leave({ part: 0, of: 1, text: JSON.stringify({ ...record, carried: {} }) }, 'eve')
  await saver.putWrites(config, [['a', 2]], 'one')
  const tuple = await new PerdureSaver({ store }).getTuple(thread)
  expect(tuple).toMatchObject({ checkpoint: { channel_values: { a: 1 } }, pendingWrites: [['one', 'a', 2]] })
})

test('a checkpoint whose parent is not in the thread has its unchanged channels too', async () => {
  const saver = new PerdureSaver({ store: memoryStore() })
  const values = { a: 'kept', b: 'new' }
  const config = { configurable: { ...thread.configurable, checkpoint_id: 'elsewhere' } }
  const put = await saver.put(config, checkpointOf(values, { a: 1, b: 2 }), metadata, { b: 2 })
  expect((await saver.getTuple(put))?.checkpoint.channel_values).toEqual(values)
})

test.each([
  ['deleted', 0],
  ['deleted and begun again with as many checkpoints', 2],
  ['deleted and begun again with more, which its saver has read,', 5],
])(
  'a thread that another process has %s under a running graph loses nothing of what the graph puts',
  async (_, again) => {
    const store = memoryStore()
    const saver = new PerdureSaver({ store })
    const list = ['x'.repeat(600)]
    const first = await saver.put(thread, checkpointOf({ list, fixed: 'old' }, { list: 1, fixed: 1 }), metadata, {
      list: 1,
      fixed: 1,
    })
    const second = await saver.put(first, checkpointOf({ list, fixed: 'old' }, { list: 1, fixed: 1 }), metadata, {})
    const other = new PerdureSaver({ store })
    await other.deleteThread('t')
    for (let n = 0; n < again; n++) {
      const values = { list: ['other'.repeat(300)], fixed: 'other' }
      await other.put(thread, checkpointOf(values, { list: 1, fixed: 1 }), metadata, { list: 1, fixed: 1 })
    }
    if (again > 2) await saver.getTuple(thread)
    const grown = [...list, 'more']
    const values = { list: grown, fixed: 'old' }
    const third = await saver.put(second, checkpointOf(values, { list: 2, fixed: 1 }), metadata, { list: 2 })
    for (const reader of [saver, new PerdureSaver({ store })])
      expect((await reader.getTuple(third))?.checkpoint.channel_values).toEqual(values)
  },
)

test("savers that put into one thread at once keep each other's checkpoints apart", async () => {
  const store = memoryStore()
  const savers = [1, 2, 3].map(() => new PerdureSaver({ store }))
  const list = ['x'.repeat(600)]
  const base = await savers[0]!.put(thread, checkpointOf({ list }, { list: 1 }), metadata, { list: 1 })
  const puts = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      savers[n % 3]!.put(base, checkpointOf({ list: [...list, `n${n}`] }, { list: 2 }), metadata, { list: 2 }),
    ),
  )
  const reader = new PerdureSaver({ store })
  for (const [n, put] of puts.entries())
    expect((await reader.getTuple(put))?.checkpoint.channel_values['list']).toEqual([...list, `n${n}`])
})

test.each([
  ['a function', () => 1],
  ['a bigint', { count: 10n }],
])('%s is refused, since the thread could not be read again as it was', async (_, value) => {
  const saver = new PerdureSaver({ store: memoryStore() })
  const config = await saver.put(thread, checkpointOf({ a: 1 }, { a: 1 }), metadata, { a: 1 })
  const put = saver.put(config, checkpointOf({ a: value }, { a: 2 }), metadata, { a: 2 })
  await expect(put).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('channel_values.a'),
  })
  await expect(saver.putWrites(config, [['a', value]], 'task')).rejects.toMatchObject({ code: 'invalid_argument' })
  expect((await saver.getTuple(thread))?.checkpoint.channel_values).toEqual({ a: 1 })
})

test('what the serialiser of LangGraph keeps beside JSON is read as it was', async () => {
  const saver = new PerdureSaver({ store: memoryStore() })
  const value = { map: new Map([['a', new Set([1])]]), pattern: /x/g, bytes: new Uint8Array([0, 255]), none: undefined }
  await saver.put(thread, checkpointOf({ value }, { value: 1 }), metadata, { value: 1 })
  expect((await saver.getTuple(thread))?.checkpoint.channel_values).toEqual({ value })
})

test('threads are listed by members of their metadata that are objects', async () => {
  const saver = new PerdureSaver({ store: memoryStore() })
  for (const by of ['ann', 'eve'])
    await saver.put(thread, checkpointOf({}, {}), { ...metadata, who: { by } } as never, {})
  const found: unknown[] = []
  for await (const { metadata: about } of saver.list(thread, { filter: { who: { by: 'ann' } } })) found.push(about)
  expect(found).toMatchObject([{ who: { by: 'ann' } }])
})

test.each([undefined, 7, '', 'a\nb', 'x'.repeat(300)])(
  'a thread id of %j is refused, and says what it must be',
  async (thread_id) => {
    const saver = new PerdureSaver({ store: memoryStore() })
    const put = saver.put({ configurable: { thread_id } }, checkpointOf({}, {}), metadata, {})
    await expect(put).rejects.toMatchObject({ code: expect.stringMatching(/^invalid_(argument|id)$/) })
  },
)

test('threads of one tenant are not seen by another', async () => {
  const store = memoryStore()
  await new PerdureSaver({ store: store.forTenant('a') }).put(thread, checkpointOf({}, {}), metadata, {})
  const other = new PerdureSaver({ store: store.forTenant('b') })
  expect(await other.getTuple(thread)).toBeUndefined()
  expect(await other.list({ configurable: {} }).next()).toMatchObject({ done: true })
})

test('the history of a delta channel has the writes since its last value, along the branch', async () => {
  const saver = new PerdureSaver({ store: memoryStore() })
  const first = await saver.put(thread, checkpointOf({ d: ['seed'] }, { d: 1 }), metadata, { d: 1 })
  await saver.putWrites(first, [['d', 'one']], 'task')
  const second = await saver.put(first, checkpointOf({}, {}), metadata, {})
  await saver.put(first, checkpointOf({}, {}), metadata, {})
  await saver.putWrites(second, [['d', 'two']], 'task')
  const third = await saver.put(second, checkpointOf({}, {}), metadata, {})
  const channels = ['d', 'none']
  expect(await saver.getDeltaChannelHistory({ config: third, channels })).toEqual({
    d: {
      seed: ['seed'],
      writes: [
        ['task', 'd', 'one'],
        ['task', 'd', 'two'],
      ],
    },
    none: { writes: [] },
  })
})
