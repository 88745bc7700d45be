import { expect, test } from 'vitest'
import type { NewEvent } from '../../log/events.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import { redactFlowEvent } from './flow-state.ts'
import { FlowStates, loadFlow, putAway } from './load-flow.ts'

const started: NewEvent = { type: 'flow_started', content: { flow: 'f', version: '1', input: 7, who: 'ann' } }
const continued: NewEvent = { type: 'flow_continued', content: { version: '1', input: 8 } }
const opened: NewEvent = { type: 'flow_opened', content: { position: 1, op: { kind: 'now' }, asked: 1 } }
const agent = 'flow:f'

async function session(count: number) {
  const store = memoryStore()
  const tenant = store.forTenant('default')
  const events = Array.from({ length: count - 1 }, () => continued)
  await tenant.commit('s1', { events: [started, ...events], conversation: { agent } })
  return { store, tenant }
}

test('a session is what its log folds to, with the time of its last event', async () => {
  const { tenant } = await session(3)
  const loaded = await loadFlow(tenant, 's1')
  expect(loaded).toMatchObject({ state: { generation: 2, input: 8, lastSeq: 3 }, summarisedTo: 0 })
  expect(loaded!.lastAt).toBe((await tenant.streamEvents('s1')).at(-1)!.at)
})

test('what begins otherwise is no session, and neither is what is not there', async () => {
  const { tenant } = await session(1)
  const said: NewEvent = {
    type: 'user_msg',
    content: { turnId: 't1', message: { parts: [{ type: 'text', text: 'Hi' }] }, options: {}, who: 'ann' },
  }
  await tenant.commit('c1', { events: [said], conversation: { agent: 'a' } })
  expect(await loadFlow(tenant, 'c1')).toBe(null)
  expect(await loadFlow(tenant, 'c2')).toBe(null)
})

test('two hundred events behind a fresh record are put away, fewer are not', async () => {
  const { tenant } = await session(200)
  const loaded = (await loadFlow(tenant, 's1'))!
  expect(await putAway(tenant, 's1', { ...loaded, summarisedTo: 1 })).toBe(1)
  expect(await tenant.latestSummary('s1')).toBe(null)
  expect(await putAway(tenant, 's1', loaded)).toBe(200)
  const again = await loadFlow(tenant, 's1')
  expect(again).toEqual({ state: loaded.state, summarisedTo: 200, lastAt: null })
  await tenant.commit('s1', { events: [opened] })
  const later = (await loadFlow(tenant, 's1'))!
  expect(later).toMatchObject({ summarisedTo: 200, state: { lastSeq: 201, ops: [{ position: 1 }] } })
  expect(await putAway(tenant, 's1', { ...later, summarisedTo: 0 })).toBe(0)
})

test('a summary that is not one of sessions is passed over: the log is the truth', async () => {
  const { tenant } = await session(4)
  const loaded = await loadFlow(tenant, 's1')
  for (const summary of [
    { version: 1, content: 'a text' },
    { version: 1, content: null },
    { version: 1, content: { other: 1 } },
    ...(['generation', 'ops', 'outcomes'] as const).map((missing) => {
      const { [missing]: _, ...rest } = { ...loaded!.state, lastSeq: 2, input: 'of the summary' }
      return { version: 1, content: rest as never }
    }),
    { version: 1, content: { ...loaded!.state, lastSeq: 3, input: 'of the summary' } as never },
    { version: 2, content: { ...loaded!.state, generation: 99 } as never },
  ]) {
    await tenant.putSummary('s1', { fromSeq: 1, toSeq: 2, base: null, ...summary })
    expect(await loadFlow(tenant, 's1')).toEqual(loaded)
  }
})

test('records that are kept are brought up to date by what is new, and forgotten with their log', async () => {
  const { tenant } = await session(2)
  const states = new FlowStates()
  const first = (await states.load(tenant, 'default', 's1'))!
  expect(await states.load(tenant, 'default', 's1')).toEqual(first)
  await tenant.commit('s1', { events: [continued] })
  const second = (await states.load(tenant, 'default', 's1'))!
  expect(second.state).toMatchObject({ generation: 2, lastSeq: 3 })
  expect(second.lastAt).toBe((await tenant.streamEvents('s1')).at(-1)!.at)
  await tenant.deleteConversation('s1')
  expect(await states.load(tenant, 'default', 's1')).toBe(null)
})

test('a record is not taken for that of another log under its name', async () => {
  const { tenant } = await session(3)
  const states = new FlowStates()
  const kept = (await states.load(tenant, 'default', 's1'))!
  states.keep('default', 's1', { ...kept, lastAt: kept.lastAt! - 1, state: { ...kept.state, input: 'of another' } })
  expect((await states.load(tenant, 'default', 's1'))!.state.input).toBe(8)
  states.keep('default', 's1', { ...kept, state: { ...kept.state, lastSeq: 9 } })
  expect((await states.load(tenant, 'default', 's1'))!.state.lastSeq).toBe(3)
})

test('only so many records are kept, those that were used last', async () => {
  const { tenant } = await session(1)
  const states = new FlowStates({ entries: 2 })
  const reads: string[] = []
  const watched = Object.create(tenant, {
    pageSince: {
      value: (id: string, bounds: Parameters<typeof tenant.pageSince>[1]) => {
        reads.push(id)
        return tenant.pageSince(id, bounds)
      },
    },
  }) as typeof tenant
  for (const id of ['s2', 's3']) await tenant.commit(id, { events: [started], conversation: { agent } })
  for (const id of ['s1', 's2', 's1', 's3', 's1', 's2']) await states.load(watched, 'default', id)
  expect(reads).toEqual(['s1', 's2', 's3', 's2'])
})

test('two hundred records are kept, or thirty-two megabytes of them', async () => {
  const { tenant } = await session(1)
  const loaded = (await loadFlow(tenant, 's1'))!
  const isKept = async (states: FlowStates, id: string) => {
    let isRead = false
    const pageSince: typeof tenant.pageSince = async (id, bounds) => {
      isRead = true
      return tenant.pageSince(id, bounds)
    }
    const pageEvents: typeof tenant.pageEvents = (_id, range) => tenant.pageEvents('s1', range)
    await states.load({ ...tenant, pageSince, pageEvents }, 'default', id)
    return !isRead
  }
  const many = new FlowStates()
  for (let n = 0; n < 200; n++) many.keep('default', `many ${n}`, loaded)
  expect(await isKept(many, 'many 0')).toBe(true)
  many.keep('default', 'one more', loaded)
  expect(await isKept(many, 'many 1')).toBe(false)
  const large = new FlowStates()
  const megabytes = { ...loaded, state: { ...loaded.state, input: 'x'.repeat(7 * 1024 * 1024) } }
  for (let n = 0; n < 4; n++) large.keep('default', `large ${n}`, megabytes)
  expect(await isKept(large, 'large 0')).toBe(true)
  large.keep('default', 'large 4', megabytes)
  expect(await isKept(large, 'large 1')).toBe(false)
})

test('what steps and flows threw is recorded without secrets, what they gave is not touched', () => {
  const redact = (text: string) => text.replaceAll('secret', '[redacted]')
  const of = (event: NewEvent) => redactFlowEvent(event, redact).content
  const outcome = (content: object) => ({ type: 'flow_outcome', content: { position: 1, ...content } }) as NewEvent
  const ended = (content: object) => ({ type: 'flow_ended', content }) as NewEvent
  expect(of(outcome({ ok: false, error: 'secret', code: 'x' }))).toEqual({
    position: 1,
    ok: false,
    error: '[redacted]',
    code: 'x',
  })
  expect(of(outcome({ ok: true, value: 'secret' }))).toEqual({ position: 1, ok: true, value: 'secret' })
  expect(of(ended({ status: 'failed', error: 'secret' }))).toEqual({ status: 'failed', error: '[redacted]' })
  expect(of(ended({ status: 'done', result: 'secret' }))).toEqual({ status: 'done', result: 'secret' })
  expect(of(started)).toBe(started.content)
})
