import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { baseOf } from '../../src/log/state.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { gate } from './gate.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

const secret = 'never for the model'

function start(story: StoryContext) {
  const model = scriptedModel(() => 'Hello.')
  const runtime = story.start({ agents: [defineAgent({ name: 'helper', model })] })
  const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'helper' })
  const talk = async (text: string) => (await chat.send(text)).outcome()
  return { runtime, store: runtime.store, chat, talk, model }
}

overStores('a note', (story) => {
  test('is in the log, the view, the history and the live stream, and never in a prompt', async () => {
    const { chat, talk, model } = start(story)
    await talk('Hi.')
    const watching = new AbortController()
    const seen = gate()
    const watched = (async () => {
      for await (const event of chat.watch({ signal: watching.signal })) {
        if (event.type === 'snapshot') seen.open()
        if (event.type === 'note') return event
      }
      return null
    })()
    await seen.opened
    const { seq } = await chat.note('rated', { stars: 5, why: secret })
    const noted = { seq, name: 'rated', data: { stars: 5, why: secret }, who: 'ann' }
    expect(await watched).toMatchObject({ type: 'note', seq, content: { name: 'rated', data: noted.data } })
    watching.abort()
    expect((await chat.view()).notes).toMatchObject([noted])
    expect((await chat.history()).notes).toMatchObject([noted])
    expect((await chat.events()).at(-1)).toMatchObject({ seq, type: 'note' })
    expect(await talk('And now?')).toMatchObject({ status: 'completed' })
    expect(JSON.stringify(model.calls.map(({ prompt }) => prompt))).not.toContain(secret)
    expect(model.calls).toHaveLength(2)
  })

  test('needs a conversation, and makes none', async () => {
    const { runtime, chat } = start(story)
    await expect(chat.note('rated', 5)).rejects.toMatchObject({ code: 'conversation_not_found' })
    expect(await runtime.conversations()).toEqual([])
  })

  test('neither wakes a conversation nor takes its lease, and a doctor finds nothing', async () => {
    const { runtime, store, chat, talk, model } = start(story)
    await talk('Hi.')
    await chat.fork({ id: 'copy' })
    for (const id of ['c1', 'copy']) await runtime.conversation(id).note('rated', 5)
    expect(await store.dueWork({ agents: ['helper'], limit: 9 })).toEqual([])
    expect(await store.acquireLease('c1', 'other', 10_000)).not.toBeNull()
    expect(model.calls).toHaveLength(1)
    expect((await chat.view()).phase).toBe('idle')
    expect(await examineStore(store, {})).toMatchObject({ faults: 0, notices: 0 })
  })

  test('may come while a tool runs and while a call waits, and what runs goes on once', async () => {
    const [isRunning, mayEnd] = [gate(), gate()]
    let runs = 0
    const slow = defineTool({
      ...{ name: 'slow', description: 'Take time', input: z.object({}), approval: 'required' },
      async run() {
        runs += 1
        isRunning.open()
        await mayEnd.opened
        return 'done'
      },
    })
    const model = scriptedModel([{ calls: [{ tool: 'slow', args: {} }] }, 'Done.'])
    const runtime = story.start({ agents: [defineAgent({ name: 'helper', model, tools: [slow] })] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    const turn = await chat.send('go')
    const call = await onlyPendingOf(turn)
    await chat.note('while it waits', null)
    expect((await onlyPendingOf(turn)).callId).toBe(call.callId)
    await chat.approve(call)
    await isRunning.opened
    await chat.note('while it runs', null)
    mayEnd.open()
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(runs).toBe(1)
    expect((await chat.view()).notes.map(({ name }) => name)).toEqual(['while it waits', 'while it runs'])
  })

  test('goes along to a fork', async () => {
    const { chat, talk } = start(story)
    await talk('Hi.')
    const { seq } = await chat.note('first', 1)
    await chat.note('second', 2)
    const names = async (at: number) => (await (await chat.fork({ at })).history()).notes.map(({ name }) => name)
    expect(await names(seq)).toEqual(['first'])
    expect(await names(seq + 1)).toEqual(['first', 'second'])
  })

  test('stays in the history when a summary stands for the turns around it', async () => {
    const { runtime, store, chat, talk } = start(story)
    await talk('One.')
    await chat.note('old', 1)
    await talk('Two.')
    const events = await store.streamEvents('c1')
    const toSeq = events.length
    await chat.note('between', 1)
    const base = JSON.parse(JSON.stringify(baseOf(foldEvents(events))))
    await store.putSummary('c1', { fromSeq: 1, toSeq, content: 'They said hello.', version: 1, base })
    await runtime.close()
    const later = story.start({ agents: [defineAgent({ name: 'helper', model: scriptedModel(() => 'Yes.') })], store })
    const again = later.conversation('c1', { agent: 'helper' })
    await (await again.send('Three.')).outcome()
    await again.note('new', 2)
    const view = await again.view()
    expect(view.messages).toHaveLength(2)
    expect(view.notes.map(({ name }) => name)).toEqual(['new'])
    const older = await again.history({ before: view.before! })
    expect(older.notes.map(({ name }) => name)).toEqual(['old', 'between'])
    expect((await again.history()).notes.map(({ name }) => name)).toEqual(['old', 'between', 'new'])
  })

  test('is on the page of history that its place is on', async () => {
    const { chat, talk } = start(story)
    for (const text of ['one', 'two', 'three']) {
      await talk(text)
      await chat.note(`after ${text}`, text)
    }
    const pages: string[][] = []
    for (let before: number | null | undefined; before !== null; ) {
      const page = await chat.history({ limit: 1, ...(before === undefined ? {} : { before }) })
      pages.push(page.notes.map(({ name }) => name))
      before = page.before
    }
    expect(pages).toEqual([['after three'], ['after two'], ['after one']])
  })

  test('very many leave view and pages small, say so, and are all in the log', async () => {
    const { store, chat, talk } = start(story)
    await talk('Hi.')
    const data = 'x'.repeat(50_000)
    for (let first = 0; first < 40; first += 10) {
      const events = Array.from({ length: 10 }, (_, n) => {
        return { type: 'note', content: { name: `n${first + n}`, data, who: 'ann' } } as const
      })
      await store.commit('c1', { events })
    }
    const view = await chat.view()
    expect(JSON.stringify(view.notes).length).toBeLessThan(600_000)
    expect(view.notes.at(-1)!.name).toBe('n39')
    expect(view.notesLeftOut).toBe(view.notes[0]!.seq - 1)
    const page = await chat.history({ maxBytes: 400_000 })
    expect(page.messages).toHaveLength(2)
    expect(page.notes.map(({ name }) => name)).toEqual(['n39'])
    expect(page.notesLeftOut).toBe(page.notes[0]!.seq - 1)
    expect((await chat.history()).notes.length).toBeGreaterThan(15)
  })

  test.each([
    ['an empty name', '', 1, 'invalid_id'],
    ['a name that is no text', 7, 1, 'invalid_id'],
    ['no data', 'rated', undefined, 'invalid_value'],
    ['data that is no JSON', 'rated', { when: Number.NaN }, 'invalid_value'],
    ['too much data', 'rated', 'x'.repeat(64 * 1024), 'event_too_large'],
  ])('is refused with %s, and the conversation goes on', async (_, name, data, code) => {
    const { chat, talk } = start(story)
    await talk('Hi.')
    await expect(chat.note(name as string, data)).rejects.toMatchObject({ code })
    expect(await talk('Still there?')).toMatchObject({ status: 'completed' })
  })

  test('in the log of a session does not disturb the flow', async () => {
    const flow = defineFlow({
      ...{ name: 'order', version: 1 },
      run: async (run) => [await run.suspend('size?'), await run.now()],
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    await session.start(null)
    await runtime.store.appendEvent('s1', { type: 'note', content: { name: 'rated', data: 5, who: 'ann' } })
    expect(await session.resume('M')).toMatchObject({ status: 'done', result: ['M', expect.any(Number)] })
    const types = (await session.events()).map(({ type }) => type)
    expect(types).toContain('note')
    expect(await examineStore(runtime.store, {})).toMatchObject({ faults: 0 })
  })
})
