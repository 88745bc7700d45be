import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import type { NewEvent } from '../../src/log/events.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import type { FlowRecord } from '../../src/runtime/flow-session.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { ViewMessage } from '../../src/view/view.ts'
import { called, ended, marked, replied, said, started, suspended } from '../log/story.ts'
import { overStores } from './over-stores.ts'

const long = 'x'.repeat(50_000)

function gave(callId: string): NewEvent {
  return { type: 'tool_result', content: { callId, ok: true, result: long } }
}

function asked(turnId: string): NewEvent {
  const message = { parts: [{ type: 'text' as const, text: long }] }
  return { type: 'user_msg', content: { turnId, message, options: {}, who: 'ann' } }
}

/** A step of t1: a message with one call that gave much. */
function step(n: number): NewEvent[] {
  const usage = { inputTokens: 1 }
  return [replied('t1', `m${n}`, 1, { calls: [`c${n}`], usage }), called(`c${n}`), started(`c${n}`), gave(`c${n}`)]
}

async function fill(store: Store, id: string, events: readonly NewEvent[]): Promise<void> {
  await store.commit(id, { events: events.slice(0, 1), conversation: { agent: 'a' }, wakeAt: null })
  const lease = (await store.acquireLease(id, 'filler', 60_000))!
  if (events.length > 1) await store.commit(id, { events: events.slice(1), epoch: lease.epoch, wakeAt: null })
  await store.releaseLease(id, lease.epoch)
}

const agent = defineAgent({ name: 'a', model: scriptedModel('fine') })

async function pagesOf(chat: Conversation, options: { limit?: number; maxBytes: number }): Promise<ViewMessage[][]> {
  const pages: ViewMessage[][] = []
  for (let before: number | undefined; ; ) {
    const page = await chat.history({ ...options, ...(before === undefined ? {} : { before }) })
    pages.unshift([...page.messages])
    if (page.before === null) return pages
    expect(page.before).toBeLessThan(before ?? Number.POSITIVE_INFINITY)
    before = page.before
  }
}

const nameOf = (message: ViewMessage): string => ('messageId' in message ? message.messageId : `${message.turnId}?`)

overStores('a conversation that is larger than what is read of it', (story) => {
  test('is read by pages of its log, onwards and back, each event once', async () => {
    const runtime = story.start({ agents: [agent] })
    await fill(runtime.store, 'c1', [said('t1'), ...[1, 2, 3, 4].flatMap(step), ended('t1')])
    const chat = runtime.conversation('c1')
    const all = (await runtime.store.streamEvents('c1')).map(({ seq }) => seq)
    const onwards: number[] = []
    for (let after = 0; ; after = onwards.at(-1)!) {
      const page = await chat.events({ after, maxBytes: 60_000 })
      if (page.length === 0) break
      onwards.push(...page.map(({ seq }) => seq))
    }
    expect(onwards).toEqual(all)
    const back: number[] = []
    for (let before = all.length + 1; before > 1; before = back[0]!) {
      back.unshift(...(await chat.events({ before, maxBytes: 60_000 })).map(({ seq }) => seq))
    }
    expect(back).toEqual(all)
    expect((await chat.events({ maxBytes: 1 })).map(({ seq }) => seq)).toEqual([all.length])
    const farthest = Number.MAX_SAFE_INTEGER
    expect((await chat.history({ before: farthest })).messages.map(nameOf)).toEqual(['t1?', 'm1', 'm2', 'm3', 'm4'])
    expect(await chat.events({ after: farthest })).toEqual([])
    expect(await runtime.inspect('c1').explain('none', { after: farthest, limit: farthest })).toBeNull()
  })

  test('shows its newest messages, and where those before them are', async () => {
    const runtime = story.start({ agents: [agent] })
    const turns = ['t1', 't2', 't3', 't4'].flatMap((turnId, n) => [
      ...[asked(turnId), replied(turnId, `m${n + 1}`, 1), ended(turnId)],
    ])
    await fill(runtime.store, 'c1', turns)
    const chat = runtime.conversation('c1')
    const view = await chat.view({ maxBytes: 110_000 })
    expect(view.messages.map(nameOf)).toEqual(['t3?', 'm3', 't4?', 'm4'])
    const older = await chat.history({ before: view.before! })
    expect(older.messages.map(nameOf)).toEqual(['t1?', 'm1', 't2?', 'm2'])
    expect(older.before).toBeNull()
    expect((await chat.view()).before).toBeNull()
    for await (const event of chat.watch()) {
      expect(event).toMatchObject({ type: 'snapshot', view: { before: null } })
      break
    }
  })

  test('has a history of whole turns as long as they fit, and every message once', async () => {
    const runtime = story.start({ agents: [agent] })
    const turns = ['t1', 't2', 't3', 't4', 't5'].flatMap((turnId, n) => [
      ...[asked(turnId), replied(turnId, `m${n + 1}`, 1), ended(turnId)],
    ])
    await fill(runtime.store, 'c1', turns)
    const pages = await pagesOf(runtime.conversation('c1'), { maxBytes: 120_000 })
    expect(pages.map((page) => page.map(nameOf))).toEqual([
      ['t1?', 'm1'],
      ['t2?', 'm2', 't3?', 'm3'],
      ['t4?', 'm4', 't5?', 'm5'],
    ])
  })

  test('has a turn that does not fit on several pages, cut between its messages, with all that came of their calls', async () => {
    const runtime = story.start({ agents: [agent] })
    await fill(runtime.store, 'c1', [said('t1'), ...[1, 2, 3, 4, 5, 6, 7].flatMap(step)])
    const pages = await pagesOf(runtime.conversation('c1'), { maxBytes: 120_000 })
    expect(pages.flat().map(nameOf)).toEqual(['t1?', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7'])
    expect(pages.length).toBeGreaterThan(2)
    for (const message of pages.flat().slice(1)) {
      expect(message).not.toHaveProperty('leftOut')
      expect(message.parts[1]).toMatchObject({ type: 'call', phase: 'ended', end: { ok: true, result: long } })
    }
  })

  test('shows the beginnings of a single message that does not fit, and says which events have the rest', async () => {
    const runtime = story.start({ agents: [agent] })
    const calls = Array.from({ length: 20 }, (_, n) => `c${n}`)
    const events = [said('t1'), replied('t1', 'm1', 1, { calls }), ...calls.map((callId) => called(callId))]
    await fill(runtime.store, 'c1', [...events, ...calls.map((callId) => started(callId)), ...calls.map(gave)])
    const chat = runtime.conversation('c1')
    const shownIn = (messages: readonly ViewMessage[]) =>
      messages.at(-1)!.parts.flatMap((part) => (part.type === 'call' ? [part] : []))
    const pages = await pagesOf(chat, { maxBytes: 120_000 })
    for (const parts of [shownIn(pages.flat()), shownIn((await chat.view({ maxBytes: 120_000 })).messages)]) {
      expect(parts.map(({ callId }) => callId)).toEqual(calls)
      expect(parts.every(({ phase }) => phase === 'ended')).toBe(true)
      expect(JSON.stringify(parts).length).toBeLessThan(150_000)
      const [first] = parts
      const [seq] = first!.leftOut!.seqs.slice(-1)
      const [event] = await chat.events({ after: seq! - 1, before: seq! + 1 })
      expect(event).toMatchObject({ type: 'tool_result', content: { callId: 'c0', result: long } })
    }
  })

  test('does not show what a hook has withheld, wherever a page begins', async () => {
    const runtime = story.start({ agents: [agent] })
    const secret = (n: number): NewEvent[] => [
      marked(`m${n}`),
      replied('t1', `m${n}`, 1, { parts: [{ type: 'text', text: `secret ${long}` }] }),
    ]
    await fill(runtime.store, 'c1', [said('t1'), ...[1, 2, 3, 4, 5].flatMap(secret)])
    const chat = runtime.conversation('c1')
    for (const maxBytes of [1, 60_000, 120_000, 170_000]) {
      const pages = await pagesOf(chat, { maxBytes })
      expect(pages.flat().map(nameOf)).toEqual(['t1?', 'm1', 'm2', 'm3', 'm4', 'm5'])
      expect(JSON.stringify([pages, await chat.view({ maxBytes })])).not.toContain('secret')
    }
  })

  test('is answered on all of what was asked, whatever was shown of it', async () => {
    const runtime = story.start({ agents: [agent], work: false })
    // Larger than what is kept of a conversation in memory.
    const args = { text: 'y'.repeat(600_000) }
    const gated = Array.from({ length: 16 }, (_, n) => `g${n}`)
    await fill(runtime.store, 'c1', [said('t1'), replied('t1', 'm1', 1, { calls: gated })])
    const lease = (await runtime.store.acquireLease('c1', 'filler', 60_000))!
    for (const callId of gated) {
      await runtime.store.commit('c1', { events: [called(callId, { gated: true, args })], epoch: lease.epoch })
    }
    await runtime.store.commit('c1', {
      events: gated.map((callId) => suspended(callId, 'approval')),
      calls: gated.map((id) => ({ id, name: 'refund' })),
      epoch: lease.epoch,
      lease: 'release',
      wakeAt: null,
    })
    const chat = runtime.conversation('c1')
    const view = await chat.view()
    expect(view.pending).toHaveLength(16)
    expect(view.pending[0]).toHaveProperty('leftOut')
    expect(JSON.stringify(view).length).toBeLessThan(4_000_000)
    expect(await chat.approve(view.pending[0]!, { args: { text: 'z' } })).toEqual({ accepted: true })
    const [answer] = (await runtime.store.streamEvents('c1')).slice(-1)
    expect(answer).toMatchObject({ type: 'resolution', content: { edited: { before: args, after: { text: 'z' } } } })
    const second = await chat.deny(view.pending[0]!)
    expect(second).toMatchObject({ accepted: false, resolution: { edited: { before: args } } })
  })

  test('tells how its turns ended, with all of their last message and all they used', async () => {
    const runtime = story.start({ agents: [agent], work: false })
    const text = 'z'.repeat(900_000)
    const answer = replied('t1', 'last', 1, { parts: [{ type: 'text', text }], usage: { inputTokens: 1 } })
    await fill(runtime.store, 'c1', [
      said('t1'),
      ...Array.from({ length: 3 }, (_, n) => step(n)).flat(),
      answer,
      ended('t1'),
    ])
    for (let n = 0; n < 12; n++) {
      const message = { parts: [{ type: 'text' as const, text }] }
      const turnId = `later-${n}`
      const events: NewEvent[] = [
        { type: 'user_msg', content: { turnId, message, options: {}, who: 'ann' } },
        ended(turnId),
      ]
      await runtime.store.commit('c1', { events, wakeAt: null })
    }
    const chat = runtime.conversation('c1')
    expect((await chat.view()).messages.some(({ turnId }) => turnId === 't1')).toBe(false)
    const outcome = await chat.turn('t1').outcome()
    expect(outcome).toMatchObject({ status: 'completed', usage: { inputTokens: 4 } })
    expect(outcome.status === 'completed' && outcome.text === text).toBe(true)
    expect(await chat.turn('never').outcome()).toMatchObject({ status: 'detached' })
  })

  test('goes on with its agent, though what is kept of it is not all', async () => {
    const model = scriptedModel(({ prompt }) => `I was shown ${JSON.stringify(prompt).includes('the first words')}.`)
    const remembering = defineAgent({ name: 'a', model, context: { workingBudget: 10_000_000, ceiling: 10_000_000 } })
    const runtime = story.start({ agents: [remembering] })
    const first: NewEvent = {
      type: 'user_msg',
      content: {
        turnId: 't0',
        message: { parts: [{ type: 'text', text: 'the first words' }] },
        options: {},
        who: 'ann',
      },
    }
    await fill(runtime.store, 'c1', [first, replied('t0', 'm0', 1), ended('t0')])
    for (let n = 0; n < 12; n++) {
      const parts = [{ type: 'text' as const, text: 'y'.repeat(900_000) }]
      const events: NewEvent[] = [
        { type: 'user_msg', content: { turnId: `t${n + 1}`, message: { parts }, options: {}, who: 'ann' } },
        ended(`t${n + 1}`),
      ]
      await runtime.store.commit('c1', { events, wakeAt: null })
    }
    const chat = runtime.conversation('c1', { agent: 'a' })
    expect((await chat.view()).log.isTrimmed).toBe(true)
    expect(await (await chat.send('Do you remember?')).outcome()).toMatchObject({ text: 'I was shown true.' })
  })

  test('is watched from any place on, event by event', async () => {
    const runtime = story.start({ agents: [agent], work: false })
    await fill(runtime.store, 'c1', [said('t1'), ...[1, 2, 3].flatMap(step), ended('t1')])
    const seqs: number[] = []
    for await (const event of runtime.conversation('c1').watch({ after: 2 })) {
      if ('content' in event) seqs.push(event.seq)
      if (seqs.at(-1) === 14) break
    }
    expect(seqs).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
  })
})

overStores('a session that is larger than what is read of it', (story) => {
  test('has its record by pages, with every outcome once and whole', async () => {
    const runtime = story.start({ agents: [agent], flows: [flow], work: false })
    const value = 'v'.repeat(900_000)
    await runtime.store.commit('s1', {
      events: [{ type: 'flow_started', content: { flow: 'import', version: '1', input: 'go', who: 'ann' } }],
      conversation: { kind: 'flow', agent: 'flow:import' },
      wakeAt: null,
    })
    const lease = (await runtime.store.acquireLease('s1', 'filler', 60_000))!
    for (let position = 1; position <= 12; position++) {
      const op = { kind: 'step' as const, name: 'read', input: null, ifInterrupted: 'rerun' as const }
      const events: NewEvent[] = [
        { type: 'flow_opened', content: { position, op, asked: position, id: `s-${position}` } },
        { type: 'flow_outcome', content: { position, ok: true, value } },
      ]
      await runtime.store.commit('s1', { events, epoch: lease.epoch, wakeAt: null })
    }
    const session = runtime.flow('import', 's1')
    expect(await session.status()).toBe('dormant')
    const positions: number[] = []
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page: FlowRecord = (await session.record({ after, maxBytes: 2_500_000 }))!
      expect(page.outcomes.length).toBeLessThanOrEqual(2)
      for (const outcome of page.outcomes) expect(outcome.ok && outcome.value === value).toBe(true)
      positions.push(...page.outcomes.map(({ position }) => position))
      after = page.after
    }
    expect(positions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  })
})

const flow = defineFlow({ name: 'import', version: 1, run: async () => null })
