import { afterAll, expect, test } from 'vitest'
import { called, marked, replied, said, suspended } from '../../../test/log/story.ts'
import type { SubscriberTopic } from '../../define/define-subscriber.ts'
import type { NewEvent } from '../../log/events.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import { subscriberEvent, typesOf } from './deliveries.ts'

const store = memoryStore()
const acme = store.forTenant('acme')
afterAll(() => store.close())

let logs = 0

/** What a delivery of the last of these events tells. */
async function told(topics: readonly SubscriberTopic[], events: readonly NewEvent[], calls: object[] = []) {
  const conversationId = `log-${++logs}`
  const { epoch } = (await acme.commit(conversationId, {
    events: [said('t1')],
    acquire: { holder: 'h', ttlMs: 60_000 },
    conversation: { agent: 'helper', title: 'Tea' },
  })) as { epoch: number }
  await acme.commit(conversationId, { events, calls: calls as never, epoch })
  const seq = (await acme.streamEvents(conversationId)).at(-1)!.seq
  const delivery = { subscriber: 's', tenant: 'acme', conversationId, seq, tries: 0, token: 0 }
  return { told: await subscriberEvent(store, delivery, topics), conversationId, seq, delivery }
}

test('a topic is the types of events that it is read from', () => {
  expect(typesOf(['waiting', 'note'])).toEqual(['suspension', 'flow_opened', 'note'])
})

test('an event is told whole, under an id of its place, and frozen', async () => {
  const asked = await told(['assistant_msg'], [replied('t1', 'm1', 1)])
  const { conversationId, seq } = asked
  const event = (await acme.streamEvents(conversationId)).at(-1)!
  expect(asked.told).toEqual({
    ...{ id: expect.stringMatching(/^evt_[0-9a-f]{40}$/), topic: 'assistant_msg', tenant: 'acme', conversationId, seq },
    ...{ at: event.at, agent: 'helper', title: 'Tea', event },
  })
  expect(Object.isFrozen((asked.told as { event: object }).event)).toBe(true)
  const again = await subscriberEvent(store, asked.delivery, ['assistant_msg'])
  expect(again).toEqual(asked.told)
  const other = await subscriberEvent(store, { ...asked.delivery, subscriber: 'other' }, ['assistant_msg'])
  expect((other as { id: string }).id).not.toBe((asked.told as { id: string }).id)
})

test('a message that was withheld is told without its parts', async () => {
  const { told: event } = await told(['assistant_msg'], [marked('m1'), replied('t1', 'm1', 2)])
  expect(event).toMatchObject({ event: { content: { messageId: 'm1', parts: [] } } })
})

test('what waits is told with its call, and as closed once it is answered', async () => {
  const asking = [replied('t1', 'm1', 1, { calls: ['q1'] }), called('q1', { gated: true })]
  const row = { id: 'q1', name: 'refund', args: { cents: 5 }, kind: 'approval', prompt: 'Sure?', expiresInMs: 60_000 }
  const asked = await told(['waiting'], [...asking, suspended('q1', 'approval', { prompt: 'Refund 5 cents' })], [row])
  const call = {
    callId: 'q1',
    round: 1,
    kind: 'approval',
    tool: 'refund',
    args: { cents: 5 },
    prompt: 'Refund 5 cents',
  }
  expect(asked.told).toMatchObject({
    topic: 'waiting',
    call: { ...call, description: 'Refund 5 cents', isOpen: true, expiresAt: expect.any(Number) },
  })
  await acme.resolveToolCall('q1', 'denied', null)
  expect(await subscriberEvent(store, asked.delivery, ['waiting'])).toMatchObject({
    call: { ...call, isOpen: false, expiresAt: null },
  })
})

test('what waits is told with the line of its call and what was done before, whatever its prompt', async () => {
  const doneBefore = { callId: 'q0', outcome: 'done' } as const
  const line = 'Refund 0.05 EUR'
  const asking = [replied('t1', 'm1', 1, { calls: ['d1'] }), called('d1', { gated: true, description: line })]
  const round = suspended('d1', 'approval', { prompt: { title: 'Sure?' }, doneBefore })
  const row = { id: 'd1', name: 'refund', notice: { description: line, doneBefore } }
  const asked = await told(['waiting'], [...asking, round], [row])
  expect(asked.told).toMatchObject({ call: { description: line, doneBefore, prompt: { title: 'Sure?' } } })
  // A later round of the same call tells its own.
  await acme.upsertToolCall(asked.conversationId, { id: 'd1', round: 2, notice: { description: line } })
  expect(await subscriberEvent(store, asked.delivery, ['waiting'])).toMatchObject({ call: { doneBefore } })
})

test('a prompt that is no text, or empty, is no description; without a row there is no call', async () => {
  for (const [index, prompt] of [{ ask: 1 }, ''].entries()) {
    const id = `p${index}`
    const asking = [replied('t1', 'm1', 1, { calls: [id] }), called(id), suspended(id, 'elicitation', { prompt })]
    const { told: event } = await told(['waiting'], asking, [{ id, kind: 'elicitation' }])
    const { call } = event as { call: object }
    expect(call).toMatchObject({ callId: id, kind: 'elicitation', prompt })
    expect('description' in call).toBe(false)
  }
  const bare = [replied('t1', 'm1', 1, { calls: ['bare'] }), called('bare'), suspended('bare', 'approval')]
  expect('call' in ((await told(['waiting'], bare)).told as object)).toBe(false)
})

test('of what a snapshot restored only that it waits is told, and then everything', async () => {
  const content = { version: 3, seq: 9, through: 6 }
  const [asking, asked] = [called('r1', { gated: true }), suspended('r1', 'approval')]
  const restored = [replied('t1', 'm1', 3, { calls: ['r1'] }), asking, asked]
  const id = 'restored'
  const { epoch } = (await acme.commit(id, {
    events: [{ type: 'seeded', content: { state: null } }, { type: 'restored', content }, said('t1'), ...restored],
    calls: [{ id: 'r1', name: 'refund' }],
    acquire: { holder: 'h', ttlMs: 60_000 },
  })) as { epoch: number }
  await acme.commit(id, { events: [{ type: 'note', content: { name: 'n', data: 1, who: 'ann' } }], epoch })
  const topics = ['tool_call', 'user_msg', 'waiting', 'note'] as const
  const tell = (seq: number) =>
    subscriberEvent(store, { subscriber: 's', tenant: 'acme', conversationId: id, seq, tries: 0, token: 0 }, topics)
  expect([await tell(3), await tell(5)]).toEqual(['skip', 'skip'])
  expect([await tell(6), await tell(7)]).toMatchObject([
    { topic: 'waiting', call: { callId: 'r1' } },
    { topic: 'note' },
  ])
})

test('nothing is told of child agents, of what was restored, of what is gone, and of topics that are not asked for', async () => {
  const child = [replied('t1', 'm1', 1, { calls: ['k'] }), called('k'), suspended('k', 'sub_agent')]
  expect((await told(['waiting'], child)).told).toBe('skip')
  const restored = replied('t1', 'm1', 1)
  const old = { ...restored, content: { ...restored.content, restoredAt: 1 } } as NewEvent
  expect((await told(['assistant_msg'], [old])).told).toBe('skip')
  const note: NewEvent = { type: 'note', content: { name: 'n', data: 1, who: 'ann' } }
  const noted = await told(['turn_ended'], [note])
  expect(noted.told).toBe('later')
  expect(await subscriberEvent(store, { ...noted.delivery, seq: 99 }, ['note'])).toBe('skip')
  await acme.deleteConversation(noted.conversationId)
  expect(await subscriberEvent(store, noted.delivery, ['note'])).toBe('skip')
})
