import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { LogDetails } from '../../src/base/logger.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { gate } from './gate.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { snapshotBook } from './snapshot-book.ts'
import { linesOf, shapeOf } from './texts.ts'
import { until } from './until.ts'

const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../fixtures/snapshots/${name}.json`, import.meta.url), 'utf8'))

function start(story: StoryContext, attributes: Partial<Parameters<typeof defineAgent>[0]> = {}) {
  const store = story.openStore()
  const book = snapshotBook(store)
  const model = scriptedModel('Of course.')
  const warnings: { message: string; details: LogDetails | undefined }[] = []
  const logger = {
    ...silentLogger,
    warn: (message: string, details?: LogDetails) => void warnings.push({ message, details }),
  }
  const agent = defineAgent({ model, instructions: 'Be brief.', ...attributes, name: 'helper' })
  const { persistence } = book
  const runtime = story.start({ agents: [agent], store, persistence, logger, persistTimeoutMs: 100 })
  const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'helper' })
  return { runtime, chat, book, model, warnings, store, agent }
}

overStores('a snapshot that is loaded', (story) => {
  test('restores a log that is empty, in a commit before the first message; the model reads messages', async () => {
    const { chat, book, model } = start(story)
    book.kept.set('c1', fixture('version-2'))
    const turn = await chat.send('Where were we?', { key: 'k' })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const events = await chat.events()
    expect(shapeOf(events)).toEqual([
      ...['seeded', 'restored', 'user_msg', 'assistant_msg complete', 'tool_call', 'tool_started', 'tool_result'],
      ...['tool_call', 'tool_started', 'tool_result', 'turn_ended completed'],
      ...['user_msg', 'assistant_msg complete', 'turn_ended completed'],
    ])
    expect(new Set(events.slice(0, 11).map(({ at }) => at)).size).toBe(1)
    expect(linesOf(model.calls[0]!.prompt)).toEqual([
      'system: Be brief.',
      [
        'user: What was said before, from a copy of an earlier conversation:',
        '',
        'Summary of what came before: Ann ordered a lamp.',
      ].join('\n'),
      'user: It is broken.  [file lamp.png (image/png): it was not in the snapshot]',
      'assistant: I am sorry. I will pay it back. [tool-call refund] [tool-call mail]',
      'tool: [tool-result refund] [tool-result mail]',
      'user: Where were we?',
    ])
    expect(book.asked).toMatchObject([
      { scope: { user: 'ann' }, agentId: 'helper', conversationId: 'c1', owner: 'ann' },
    ])
    checkHistory(events)
  })

  test('brings its title along', async () => {
    const { runtime, chat, book } = start(story)
    book.kept.set('c1', fixture('version-2'))
    await (await chat.send('Hi')).outcome()
    expect((await chat.view()).title).toBe('A broken lamp')
    expect(await runtime.store.getConversation('c1')).toMatchObject({ title: 'A broken lamp' })
  })

  test('of an older version is brought to this one', async () => {
    const { chat, book, model } = start(story)
    book.kept.set('c1', fixture('version-1'))
    await (await chat.send('Hi')).outcome()
    expect(linesOf(model.calls[0]!.prompt).slice(1)).toEqual([
      'user: My lamp is broken.',
      'assistant: Which one?',
      'user: Hi',
    ])
    expect((await chat.events())[0]!.content).toMatchObject({ state: { version: 3, title: 'Lamp' } })
  })

  test('is a part of the snapshots that are taken next', async () => {
    const { chat, book } = start(story)
    book.kept.set('c1', fixture('version-2'))
    await (await chat.send('Hi')).outcome()
    const { state } = book.taken.at(-1)!
    expect(state).toMatchObject({ title: 'A broken lamp', summary: 'Ann ordered a lamp.' })
    expect(state.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  })

  test('is covered by the first summary, and then it is not told any more', async () => {
    const summary = scriptedModel('The lamp was paid back.')
    const context = { workingBudget: 5_000, windowTurns: 1, summarise: { model: summary } }
    const { chat, book, model, store } = start(story, { context })
    book.kept.set('c1', fixture('version-2'))
    const filler = 'word '.repeat(2_500)
    for (const n of [1, 2, 3]) await (await chat.send(`${n} ${filler}`)).outcome()
    await until(async () => (await store.latestSummary('c1')) !== null)
    expect(JSON.stringify(summary.calls[0]!.prompt)).toContain('Ann ordered a lamp.')
    await (await chat.send(`4 ${filler}`)).outcome()
    const last = linesOf(model.calls.at(-1)!.prompt)
    expect(last.filter((line) => line.includes('Ann ordered a lamp.'))).toEqual([])
    expect(last[1]).toContain('The lamp was paid back.')
    // The turns that a summary stands for are let go when the turn that took it up has ended.
    await (await chat.send('5')).outcome()
    const { state } = book.taken.at(-1)!
    expect(state.summary).toBe('The lamp was paid back.')
    expect(JSON.stringify(state.messages)).not.toContain('It is broken.')
  })

  test('is asked for before the first message only, whatever is sent later and by whom', async () => {
    const { runtime, chat, book } = start(story)
    await (await chat.send('one', { key: 'k' })).outcome()
    book.kept.set('c1', fixture('version-2'))
    await (await chat.send('one', { key: 'k' })).outcome()
    await (await chat.send('two')).outcome()
    await (await chat.send('three', { whenBusy: 'queue' })).outcome()
    await (
      await runtime
        .as(createScope({ user: 'bob' }))
        .conversation('c1')
        .send('four')
    ).outcome()
    expect(book.asked).toHaveLength(1)
    expect(shapeOf(await chat.events())).not.toContain('seeded')
  })

  test('never gets into a log that has begun meanwhile', async () => {
    const { chat, book } = start(story)
    book.kept.set('c1', fixture('version-2'))
    const turns = await Promise.all([1, 2, 3, 4].map((n) => chat.send(`${n}`, { whenBusy: 'queue' })))
    for (const turn of turns) expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const events = await chat.events()
    expect(events.filter(({ type }) => type === 'seeded')).toMatchObject([{ seq: 1 }])
    checkHistory(events)
  })

  test('never gets into a log that another process began while it was being loaded', async () => {
    const isAsked = gate()
    const mayLoad = gate()
    const store = story.openStore()
    const agent = defineAgent({ name: 'helper', model: scriptedModel('ok') })
    const loadState = async () => {
      isAsked.open()
      await mayLoad.opened
      return fixture('version-2') as never
    }
    const slow = story.start({ agents: [agent], store, persistence: { persistState: () => {}, loadState } })
    const other = story.start({ agents: [agent], store: story.reopen(store) })
    const late = slow.conversation('c1', { agent: 'helper' }).send('late', { whenBusy: 'queue' })
    await isAsked.opened
    await (await other.conversation('c1', { agent: 'helper' }).send('first')).outcome()
    mayLoad.open()
    expect(await (await late).outcome()).toMatchObject({ status: 'completed' })
    const events = await store.streamEvents('c1')
    expect(shapeOf(events)).not.toContain('seeded')
    expect((await store.getConversation('c1'))?.title).toBeNull()
    checkHistory(events)
  })

  test.each<[string, unknown]>([
    ['is truncated', { version: 2, seq: 5, title: null }],
    ['is corrupted', { ...(fixture('version-2') as object), messages: [{ role: 'system', at: 1, parts: [] }] }],
    [
      'has parts of no known kind',
      { ...(fixture('version-2') as object), messages: [{ role: 'user', at: 1, parts: [{ type: 'tool-call' }] }] },
    ],
    ['is of a version to come', { version: 4, state: {} }],
    ['has a message that no log can hold', { messages: [{ role: 'user', content: 'x'.repeat(1_100_000) }] }],
    [
      'has options that no turn can have',
      {
        ...(fixture('version-3') as object),
        turns: [
          { turnId: 't-1', status: 'halted', reason: null },
          { turnId: 't-2', status: 'open', reason: null, options: { maxSteps: -1 } },
          { turnId: 't-3', status: 'queued', reason: null },
        ],
      },
    ],
    ['is of no version', { version: 'latest', messages: [] }],
    ['is text', '{"version":2,'],
    ['is a list', []],
    ['is not JSON', { version: 2, seq: 1, state: 'idle', title: null, summary: null, messages: [], at: new Date() }],
  ])('that %s is logged and not used', async (_, snapshot) => {
    const { chat, book, warnings, model } = start(story)
    book.kept.set('c1', snapshot)
    expect(await (await chat.send('Hi')).outcome()).toMatchObject({ status: 'completed' })
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
    expect(linesOf(model.calls[0]!.prompt)).toEqual(['system: Be brief.', 'user: Hi'])
    expect(warnings).toMatchObject([
      { message: 'a snapshot cannot be used; the conversation begins without it', details: { conversationId: 'c1' } },
    ])
  })

  test('of a foreign scope is not found, and looks exactly like that', async () => {
    const store = story.openStore()
    const agent = defineAgent({ name: 'helper', model: scriptedModel('ok') })
    const persistence = {
      persistState: () => {},
      loadState: (scope: unknown) =>
        ((scope as { user?: string }).user === 'ann' ? fixture('version-2') : null) as never,
    }
    const runtime = story.start({ agents: [agent], store, persistence })
    const logs = []
    for (const [user, id] of [
      ['eve', 'c1'],
      ['eve', 'c2'],
      ['ann', 'c3'],
    ] as const) {
      const chat = runtime.as(createScope({ user })).conversation(id, { agent: 'helper' })
      await (await chat.send('Hi')).outcome()
      logs.push(shapeOf(await chat.events()))
    }
    expect(logs[0]).toEqual(logs[1])
    expect([logs[0]![0], logs[2]![0]]).toEqual(['user_msg', 'seeded'])
  })

  test.each<[string, () => never]>([
    [
      'throws',
      () => {
        throw new Error('no connection')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no connection')) as never],
    ['never comes back', () => new Promise(() => {}) as never],
    ['says that it failed', () => ({ ok: false }) as never],
    ['says why it failed', () => Promise.resolve({ ok: false, error: new Error('no connection') }) as never],
    ['returns an error', () => Promise.resolve(new Error('no connection')) as never],
  ])('by code that %s is an error: nothing is sent, and the next try may find it', async (_, broken) => {
    const store = story.openStore()
    const agent = defineAgent({ name: 'helper', model: scriptedModel('ok') })
    let isBroken = true
    const persistence = {
      persistState: () => {},
      loadState: () => (isBroken ? broken() : (fixture('version-2') as never)),
    }
    const runtime = story.start({ agents: [agent], store, persistence, persistTimeoutMs: 50 })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await expect(chat.send('Hi')).rejects.toMatchObject({ code: 'snapshot_load_failed', retryable: true })
    expect(await store.getConversation('c1')).toBeNull()
    isBroken = false
    expect(await (await chat.send('Hi')).outcome()).toMatchObject({ status: 'completed' })
    expect(shapeOf(await chat.events())[0]).toBe('seeded')
  })

  test('that is far too long keeps its newest messages', async () => {
    const { chat, book } = start(story)
    const messages = Array.from({ length: 12_000 }, (_, n) => ({
      role: n % 2 === 0 ? 'user' : 'assistant',
      content: `${n}`,
    }))
    book.kept.set('c1', { version: 1, messages })
    expect(await (await chat.send('Hi')).outcome()).toMatchObject({ status: 'completed' })
    const said = (await chat.events()).filter(({ type }) => type === 'user_msg')
    expect(said).toHaveLength(2_501)
    expect(said[0]!.content).toMatchObject({ message: { parts: [{ text: '7000' }] } })
  })
})
