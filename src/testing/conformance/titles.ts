import type { ConversationStatus } from '../../log/fsm-state.ts'
import { assistantMsg, seeded, suspendCalls, titled, turnEnded, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function titles({ describe, test, testTwoStores, expect, refused }: Suite): void {
  describe('titles', () => {
    test('a new title is an event in the same commit, and the title it has already is not', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.putConversation('chat', { title: 'Refunds', settings: { colour: 'red' } })
      const events = await store.streamEvents('chat', { after: 1 })
      expect(events).toMatchObject([{ seq: 2, ...titled('Refunds') }])
      expect(await store.getConversation('chat')).toMatchObject({ title: 'Refunds', lastSeq: 2 })
      await store.putConversation('chat', { title: 'Refunds', settings: { colour: 'blue' } })
      expect(await store.getConversation('chat')).toMatchObject({ lastSeq: 2, settings: { colour: 'blue' } })
      await store.putConversation('chat', { title: 'Returns' })
      expect(await store.getConversation('chat')).toMatchObject({ title: 'Returns', lastSeq: 3 })
    })

    test('a conversation that is created with a title has it as its first event', async ({ store }) => {
      await store.putConversation('chat', { agent: 'support', title: 'Refunds' })
      expect(await store.streamEvents('chat')).toMatchObject([{ seq: 1, ...titled('Refunds') }])
      expect(await store.getConversation('chat')).toMatchObject({ agent: 'support', title: 'Refunds', status: 'idle' })
      await store.putConversation('plain', { title: null })
      expect(await store.getConversation('plain')).toMatchObject({ title: null, lastSeq: 0 })
    })

    test('null removes a title, in the log too', async ({ store }) => {
      await store.putConversation('chat', { title: 'Refunds' })
      await store.putConversation('chat', { title: null })
      await store.putConversation('chat', { title: null })
      expect(await store.getConversation('chat')).toMatchObject({ title: null, lastSeq: 2 })
      expect((await store.streamEvents('chat')).map(({ content }) => content)).toEqual([
        { title: 'Refunds' },
        { title: null },
      ])
    })

    test('an event that is appended names the row, and the title of a seed needs no event', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.appendEvent('chat', titled('Refunds'))
      expect(await store.getConversation('chat')).toMatchObject({ title: 'Refunds' })
      await store.commit('chat', { events: [titled('First'), titled('Last')] })
      expect(await store.getConversation('chat')).toMatchObject({ title: 'Last', lastSeq: 4 })
      const seed = seeded({ title: 'From elsewhere' })
      // An id of its own: one that another case deleted cannot be seeded.
      await store.commit('seeded-title', { events: [seed], conversation: { title: 'From elsewhere' } })
      expect(await store.getConversation('seeded-title')).toMatchObject({ title: 'From elsewhere', lastSeq: 1 })
    })

    test('a change with a title writes the event, and one whose event says something else is refused', async ({
      store,
    }) => {
      await store.commit('chat', { events: [userMsg()], conversation: { title: 'Refunds' } })
      const events = await store.streamEvents('chat')
      expect(events.map(({ type }) => type)).toEqual(['user_msg', 'titled'])
      const both = { events: [titled('Log')], conversation: { title: 'Row' } }
      await refused('invalid_argument', () => store.commit('chat', both))
      await store.commit('chat', { events: [titled('Same')], conversation: { title: 'Same' } })
      expect(await store.getConversation('chat')).toMatchObject({ title: 'Same', lastSeq: 3 })
    })

    test('a title that is empty, too long or no text is refused, however it is given', async ({ store }) => {
      await store.putConversation('chat', { title: 'Refunds' })
      for (const title of ['', 'x'.repeat(1_001), 7, true, ['Refunds'], { text: 'Refunds' }] as never[]) {
        await refused('invalid_argument', () => store.putConversation('chat', { title }), String(title).slice(0, 9))
        const conversation = { title }
        await refused('invalid_argument', () => store.commit('chat', { events: [], conversation }), 'commit')
      }
      for (const title of ['', 'x'.repeat(1_001)])
        await refused('invalid_argument', () => store.appendEvent('chat', titled(title)))
      expect(await store.getConversation('chat')).toMatchObject({ title: 'Refunds', lastSeq: 1 })
      await store.putConversation('chat', { title: 'x'.repeat(1_000) })
    })

    test('a fork takes the title along, and has its own from then on', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('Refunds')] })
      await store.fork('chat', 'copy')
      await store.putConversation('copy', { title: 'Another try' })
      expect(await store.getConversation('copy')).toMatchObject({ title: 'Another try', lastSeq: 3 })
      expect(await store.getConversation('chat')).toMatchObject({ title: 'Refunds', lastSeq: 2 })
    })

    testTwoStores('of titles that come at once, the row has the last of the log', async ({ store, other }) => {
      await store.appendEvent('chat', userMsg())
      const given = Array.from({ length: 12 }, (_, index) => `title ${index}`)
      await Promise.all(given.map((title, index) => (index % 2 ? store : other).putConversation('chat', { title })))
      const last = (await store.streamEvents('chat')).at(-1)!
      expect(await store.getConversation('chat')).toMatchObject({ ...last.content, lastSeq: 13 })
    })
  })

  describe('an explicit status', () => {
    const open = [userMsg(), assistantMsg()]
    const logs: readonly [ConversationStatus, string][] = [
      ['idle', 'a turn that has ended'],
      ['active', 'an open turn'],
      ['suspended', 'a call that waits'],
    ]
    for (const [says, what] of logs) {
      test(`that contradicts the log is refused and says what it is: ${what}`, async ({ store }) => {
        if (says === 'suspended') await suspendCalls(store, 'chat', ['call'])
        else await store.commit('chat', { events: says === 'idle' ? [...open, turnEnded()] : open })
        const before = await store.getConversation('chat')
        for (const status of ['idle', 'active', 'suspended', 'ended'] as const) {
          if (status === says) continue
          const attrs = { status, settings: { colour: 'red' } }
          const error = await refused('invalid_argument', () => store.putConversation('chat', attrs), status)
          expect(error.message.includes(`says '${says}'`)).toBe(true)
        }
        expect(await store.getConversation('chat')).toEqual(before)
        await store.putConversation('chat', { status: says, settings: { colour: 'red' } })
        expect(await store.getConversation('chat')).toMatchObject({ status: says, settings: { colour: 'red' } })
      })
    }

    test('is idle for a conversation that has no log yet', async ({ store }) => {
      await refused('invalid_argument', () => store.putConversation('chat', { status: 'active' }))
      expect(await store.getConversation('chat')).toBe(null)
      await store.putConversation('chat', { status: 'idle' })
      expect(await store.getConversation('chat')).toMatchObject({ status: 'idle' })
    })

    test('is judged by the log, whatever the row or its cache says', async ({ store }) => {
      await store.commit('chat', { events: open })
      await store.putFsmState('chat', { state: 'idle', pending: [], lastSeq: 2 })
      await refused('invalid_argument', () => store.putConversation('chat', { status: 'idle' }))
      await store.putConversation('chat', { status: 'active' })
      expect(await store.getConversation('chat')).toMatchObject({ status: 'active' })
    })

    test('of an answered call is judged after the answer', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.resolveToolCall('call', 'resolved', true)
      await refused('invalid_argument', () => store.putConversation('chat', { status: 'suspended' }))
      await store.putConversation('chat', { status: 'active' })
    })
  })
}

export function searching({ describe, test, expect, refused }: Suite): void {
  describe('searching', () => {
    test('a list can be narrowed to a text in title or id, in either case, and nothing in it is a pattern', async ({
      store,
      pass,
    }) => {
      const rows = [
        ['order-17', 'Broken lamp'],
        ['ORDER-18', '100% "sure" \\ a_b'],
        ['x3', 'Lampe für Ärzte'],
        ['x4', null],
      ] as const
      for (const [id, title] of rows) {
        await store.appendEvent(id, title === null ? userMsg() : titled(title))
        await pass(2)
      }
      const ids = async (text: string) => (await store.listConversations({ text })).map(({ id }) => id)
      expect(await ids('order')).toEqual(['ORDER-18', 'order-17'])
      expect(await ids('ORDER-17')).toEqual(['order-17'])
      expect(await ids('LAMP')).toEqual(['x3', 'order-17'])
      expect(await ids('%')).toEqual(['ORDER-18'])
      expect(await ids('_')).toEqual(['ORDER-18'])
      expect(await ids('"sure" \\')).toEqual(['ORDER-18'])
      expect(await ids('für Ärzte')).toEqual(['x3'])
      expect(await ids('FÜR')).toEqual([])
      expect(await ids("' OR 1=1 --")).toEqual([])
      expect((await store.listConversations({ text: 'lamp', limit: 1, before: 'x3' })).map(({ id }) => id)).toEqual([
        'order-17',
      ])
      expect(await store.forTenant('other').listConversations({ text: 'lamp' })).toEqual([])
    })

    test('a text that is empty, too long or no text is refused', async ({ store }) => {
      for (const text of ['', 'x'.repeat(201), 'a\0b', '\ud800', 7]) {
        await refused('invalid_argument', () => store.listConversations({ text: text as string }))
      }
      expect(await store.listConversations({ text: 'x'.repeat(200) })).toEqual([])
    })

    test('a list can be narrowed to conversations by their ids', async ({ store, pass }) => {
      for (const id of ['a', 'b', 'c']) {
        await store.appendEvent(id, userMsg())
        await pass(2)
      }
      await store.forTenant('other').appendEvent('d', userMsg())
      const ids = async (...some: string[]) => (await store.listConversations({ ids: some })).map(({ id }) => id)
      expect(await ids('a', 'c', 'd', 'none')).toEqual(['c', 'a'])
      expect(await ids()).toEqual([])
      const many = Array.from({ length: 1_001 }, (_, index) => `c${index}`)
      await refused('invalid_argument', () => store.listConversations({ ids: many }))
    })

    test('a deletion is a hint', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const told: string[] = []
      const stop = store.onWake(({ id, seq }) => void told.push(`${id} ${seq}`))
      await store.deleteConversation('chat')
      await store.deleteConversation('none')
      stop()
      expect(told.includes('chat 0')).toBe(true)
      expect(told.includes('none 0')).toBe(false)
    })

    test('a list counts the calls that wait for an answer, and not those of child agents', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.upsertToolCall('chat', { id: 'one' })
      await store.upsertToolCall('chat', { id: 'two', kind: 'elicitation' })
      await store.upsertToolCall('chat', { id: 'child', kind: 'sub_agent' })
      await store.upsertToolCall('chat', { id: 'over', status: 'resolved' })
      expect((await store.listConversations())[0]!.waiting).toBe(2)
      await store.resolveToolCall('one', 'resolved', true)
      expect((await store.listConversations())[0]!.waiting).toBe(1)
    })
  })
}
