import type { Store } from '../../store/store.ts'
import { titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000

export function ids({ describe, test, expect, refused }: Suite): void {
  describe('ids', () => {
    test('every method refuses the same ids', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      for (const [where, call] of places(store)) {
        for (const id of badIds) await refused('invalid_id', () => call(id as never), `${where}: ${shown(id)}`)
      }
      expect((await store.listConversations()).map((record) => record.id)).toEqual(['chat'])
      expect(await store.pendingInbox()).toEqual([])
    })

    test('nothing new is called . or .., which no path of a URL can hold', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      for (const id of ['.', '..']) {
        for (const where of ['appendEvent', 'putConversation', 'putFsmState', 'upsertToolCall', 'commit', 'fork to']) {
          const [, call] = places(store).find(([name]) => name === where)!
          await refused('invalid_id', () => call(id), `${where}: ${id}`)
        }
        expect(await store.getConversation(id)).toBe(null)
        expect(await store.streamEvents(id)).toEqual([])
        expect(await store.deleteConversation(id)).toBe(false)
      }
      expect((await store.listConversations()).map((record) => record.id)).toEqual(['chat'])
    })

    test('an odd id is as good as any other', async ({ store }) => {
      await Promise.all(oddIds.map((id) => use(store, id)))
      await Promise.all(oddIds.map((id) => find(store, id)))
      expect((await store.listConversations({ limit: 999 })).length).toBe(oddIds.length)
    })
  })

  async function use(store: Store, id: string): Promise<void> {
    await store.commit(id, { events: [userMsg(id)], key: id, digest: id, conversation: { agent: id } })
    await store.upsertToolCall(id, { id, name: id })
    await store.putModelCall(id, { turnRef: id })
    await store.putSnapshot(id, id)
    await store.forTenant(id).appendEvent(id, titled(id))
    expect((await store.acquireLease(id, id, minute)) === null).toBe(false)
    expect(await store.renewLeases(id, minute)).toEqual([])
  }

  async function find(store: Store, id: string): Promise<void> {
    expect(await store.getConversation(id)).toMatchObject({ id, agent: id, lastSeq: 1 })
    const [event] = await store.streamEvents(id)
    expect(event).toMatchObject({ conversationId: id, ...userMsg(id) })
    expect(await store.getToolCall(id)).toMatchObject({ id, conversationId: id, name: id })
    expect((await store.modelCalls(id)).map((call) => call.turnRef)).toEqual([id])
    expect(await store.getSnapshot(id)).toBe(id)
    expect((await store.listConversations({ agent: id })).map((record) => record.id)).toEqual([id])
    expect((await store.forTenant(id).streamEvents(id)).map((own) => own.content)).toEqual([{ title: id }])
    expect(await store.commit(id, { events: [titled('B')], key: id, digest: id })).toMatchObject({ ok: true, seq: 1 })
    expect(await store.acquireLease(id, 'somebody else', minute)).toBe(null)
  }
}

const badIds = [
  '',
  'x'.repeat(256),
  'é'.repeat(128),
  '😀'.repeat(64),
  'nul\u0000',
  'line\nbreak',
  '\ttab',
  '\u001f',
  '\u007f',
  '\u0085',
  '\u009f',
  '\ud800',
  'lone\udc00',
  null,
  5,
  true,
  {},
  ['chat'],
]

const oddIds = [
  'x'.repeat(255),
  `${'é'.repeat(127)}x`,
  '😀'.repeat(63),
  ' ',
  'a ',
  ' a',
  'a',
  'A',
  'á',
  'a\u0301',
  'ａ',
  '\u00a0',
  '\u200b',
  '\u2028',
  '\u202ertl',
  '\uffff',
  "o'clock",
  '"quoted"',
  'a/b/../c',
  '...',
  './',
  '%',
  '_',
  '*',
  '\\',
  '$1',
  '?',
  'null',
  '0',
  '-1',
  '1e3',
  '__proto__',
  'constructor',
  'hasOwnProperty',
]

/** Every place where an id goes in. */
function places(store: Store): [string, (id: string) => unknown][] {
  const answer = { round: 1, status: 'resolved', result: null } as const
  const summary = { fromSeq: 1, toSeq: 1, content: null, version: 1, base: null }
  return [
    ['appendEvent', (id) => store.appendEvent(id, userMsg())],
    ['streamEvents', (id) => store.streamEvents(id)],
    ['loadSince', (id) => store.loadSince(id)],
    ['putSummary', (id) => store.putSummary(id, summary)],
    ['latestSummary', (id) => store.latestSummary(id)],
    ['putConversation', (id) => store.putConversation(id, {})],
    ['putConversation agent', (agent) => store.putConversation('chat', { agent })],
    ['putConversation parent', (id) => store.putConversation('chat', { parent: { id } })],
    ['putConversation parent call', (callId) => store.putConversation('chat', { parent: { id: 'chat', callId } })],
    ['getConversation', (id) => store.getConversation(id)],
    ['putFsmState', (id) => store.putFsmState(id, { state: 'idle', pending: [], lastSeq: 0 })],
    ['upsertToolCall', (id) => store.upsertToolCall(id, { id: 'call' })],
    ['upsertToolCall call', (id) => store.upsertToolCall('chat', { id })],
    ['getToolCall', (id) => store.getToolCall(id)],
    ['pendingToolCalls', (id) => store.pendingToolCalls(id)],
    ['resolveToolCall', (id) => store.resolveToolCall(id, 'resolved', null)],
    ['scheduleExpiry', (id) => store.scheduleExpiry(id, 'call', minute)],
    ['scheduleExpiry call', (id) => store.scheduleExpiry('chat', id, minute)],
    ['cancelExpiry', (id) => store.cancelExpiry(id, 'call')],
    ['cancelExpiry call', (id) => store.cancelExpiry('chat', id)],
    ['putModelCall', (id) => store.putModelCall(id, { turnRef: 'turn' })],
    ['putModelCall turnRef', (turnRef) => store.putModelCall('chat', { turnRef })],
    ['modelCalls', (id) => store.modelCalls(id)],
    ['gcModelCalls', (id) => store.gcModelCalls(id, 0)],
    ['commit', (id) => store.commit(id, { events: [userMsg()] })],
    ['commit key', (key) => store.commit('chat', { events: [], key })],
    ['commit digest', (digest) => store.commit('chat', { events: [], key: 'key', digest })],
    ['commit call', (id) => store.commit('chat', { events: [], calls: [{ id }] })],
    ['commit resolve', (callId) => store.commit('chat', { events: [], resolve: [{ callId, ...answer }] })],
    ['commit agent', (agent) => store.commit('chat', { events: [], conversation: { agent } })],
    ['listConversations before', (before) => store.listConversations({ before })],
    ['listConversations agent', (agent) => store.listConversations({ agent })],
    ['deleteConversation', (id) => store.deleteConversation(id)],
    ['pendingInbox before', (before) => store.pendingInbox({ before })],
    ['fork', (id) => store.fork(id, 'copy')],
    ['fork to', (id) => store.fork('chat', id)],
    ['acquireLease', (id) => store.acquireLease(id, 'one', minute)],
    ['acquireLease holder', (holder) => store.acquireLease('chat', holder, minute)],
    ['releaseLease', (id) => store.releaseLease(id, 1)],
    ['putBlob media type', (mediaType) => store.putBlob(new Uint8Array(1), mediaType)],
    ['getBlob', (blob) => store.getBlob({ blob, mediaType: 'text/plain', size: 1 })],
    ['putSnapshot', (id) => store.putSnapshot(id, null)],
    ['getSnapshot', (id) => store.getSnapshot(id)],
    ['forTenant', (tenant) => store.forTenant(tenant)],
    ['dueWork agent', (agent) => store.dueWork({ agents: [agent], limit: 1 })],
    ['renewLeases', (holder) => store.renewLeases(holder, minute)],
    ['keepLeases', (holder) => store.keepLeases(holder, minute, [])],
    ['deleteTenant', (tenant) => store.deleteTenant(tenant)],
  ]
}

function shown(id: unknown): string {
  return JSON.stringify(id).slice(0, 20)
}
