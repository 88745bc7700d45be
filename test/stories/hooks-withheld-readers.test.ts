import { expect, test } from 'vitest'
import { halt, postHook, regenerate } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { bossOf, childIdsOf, childTool } from './child-agents.ts'
import { gate } from './gate.ts'
import { expectNothingTold, onlyMessage, secret, startGuarded, thrown } from './guarded-agent.ts'
import { isIdle, joined } from './joined.ts'
import { overStores } from './over-stores.ts'
import { linesOf } from './texts.ts'
import { until } from './until.ts'

overStores('what no hook has passed', (story) => {
  test('is in no later prompt, of the same turn or of the next', async () => {
    let asked = 0
    const once = postHook('once', () => {
      asked += 1
      if (asked === 1) return regenerate('Say it otherwise.')
      return asked === 2 ? halt('no') : undefined
    })
    const model = scriptedModel(({ n }) => (n < 3 ? secret : 'Hello.'))
    const { chat } = startGuarded(story, [once], { model })
    await (await chat.send('first')).outcome()
    expect(await (await chat.send('second')).outcome()).toMatchObject({ status: 'completed', text: 'Hello.' })
    expect(model.calls.map(({ prompt }) => linesOf(prompt))).toEqual([
      ['user: first'],
      ['user: first', 'user: Say it otherwise.'],
      ['user: first', 'user: Say it otherwise.', 'user: second'],
    ])
  })

  test('of a child agent is not the result of its call, nor is what its hook threw about it', async () => {
    const quoting = postHook('quoting', (turn) => thrown(new Error(`it says: ${turn.assistantMessage?.text}`)))
    const child = defineAgent({ name: 'spy', model: scriptedModel(secret), hooks: [quoting] })
    const { boss, model } = bossOf([childTool('ask', child)], [{ tool: 'ask', args: { task: 'Where?' } }])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const outcome = await (await chat.send('go')).outcome()
    expect(outcome).toMatchObject({ status: 'completed', usage: { outputTokens: 15 } })
    const resolved = (await chat.events()).find((event) => event.type === 'resolution')
    expect(resolved?.content.value).toEqual({
      ok: false,
      error: "the agent 'spy' failed: hook_failed",
      usage: { inputTokens: 10, outputTokens: 5 },
    })
    expect(JSON.stringify(model.calls)).not.toContain('Xan')
    const [childId] = await childIdsOf(chat)
    expect(JSON.stringify(await runtime.conversation(childId!).events())).toContain('Xan')
  })

  test('is in no summary, no title and no page of history, however long ago it was', async () => {
    const guard = postHook('guard', (turn) => (turn.assistantMessage?.text === secret ? halt('no') : undefined))
    const model = scriptedModel(({ n }) => (n === 1 ? secret : 'word '.repeat(60)))
    const [summaries, titles] = [scriptedModel(() => 'They talked.'), scriptedModel(() => 'A talk')]
    const context = { workingBudget: 600, injectionReserve: 0, summarise: { model: summaries } }
    const { chat, store, taken } = startGuarded(story, [guard], { model, context, title: { model: titles } })
    for (let n = 1; n <= 15; n++) await (await chat.send(`message ${n}`)).outcome()
    const summary = await until(() => store.latestSummary('c1'))
    await until(async () => (await chat.view()).title)
    expect(JSON.stringify(summaries.calls)).toContain('message 1')
    expectNothingTold([summary, summaries.calls, titles.calls, model.calls, taken.map(({ state }) => state)])
    for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
      const page: Awaited<ReturnType<typeof chat.history>> = await chat.history({ before, limit: 1 })
      expect(page.messages).toHaveLength(2)
      expectNothingTold(page)
      before = page.before
    }
  })

  test('is withdrawn from those who watch, and reaches them in no event, wherever they begin', async () => {
    const { chat } = startGuarded(story, [postHook('strict', () => halt('no'))])
    const watcher = await joined(chat)
    await chat.send('go')
    const view = await watcher.until(isIdle)
    const log = await chat.events()
    const { messageId } = onlyMessage(log).content
    const told = watcher.events.filter((event) => !event.type.endsWith('_delta'))
    expect(told).toContainEqual(expect.objectContaining({ type: 'message_discarded', messageId }))
    expect(told.some((event) => event.type === 'message_completed')).toBe(false)
    expectNothingTold(told.filter((event) => event.type !== 'snapshot'))
    expect(view).toEqual(await chat.view())
    for (let after = 0; after < log.length; after++) {
      const ending = new AbortController()
      const seen: unknown[] = []
      for await (const event of chat.watch({ after, signal: ending.signal })) {
        seen.push(event)
        if ('content' in event && event.seq === log.length) ending.abort()
      }
      expect(seen.length).toBeGreaterThanOrEqual(log.length - after)
      expectNothingTold(seen)
    }
  })

  test('was seen while it was written, unless the agent reveals only what is judged', async () => {
    const told = async (attributes: object): Promise<string> => {
      const { chat } = startGuarded(
        story,
        [postHook('strict', (turn) => (turn.assistantMessage?.calls.length ? halt('no') : undefined))],
        attributes,
      )
      const watcher = await joined(chat)
      await chat.send('go')
      await watcher.until(isIdle)
      return JSON.stringify(watcher.events)
    }
    expect(await told({})).toContain('It is Xan')
    const judged = await told({ reveal: 'judged' })
    expectNothingTold(JSON.parse(judged))
    expect(judged).toContain('"phase":"streaming"')
  })

  test('when it is judged before it is shown, comes whole as soon as all hooks have passed it', async () => {
    const asked = gate()
    const passed = gate()
    const guard = postHook('guard', async () => {
      asked.open()
      await passed.opened
    })
    const model = scriptedModel({ text: ['All ', 'is ', 'well.'] })
    const { chat } = startGuarded(story, [guard], { model, reveal: 'judged', hookTimeoutMs: 60_000 })
    const watcher = await joined(chat)
    const turn = await chat.send('go')
    await asked.opened
    expect((await chat.view()).drafts).toEqual([])
    passed.open()
    const view = await watcher.until(isIdle)
    expect(view.messages.at(-1)).toMatchObject({ parts: [{ type: 'text', text: 'All is well.' }] })
    const texts: string[] = []
    for await (const text of turn.textStream) texts.push(text)
    expect(texts).toEqual(['All is well.'])
  })

  test('is as withheld in a fork as it was, wherever the fork begins', async () => {
    const { chat, model } = startGuarded(story, [
      postHook('guard', (turn) => (turn.assistantMessage?.calls.length ? halt('no') : undefined)),
    ])
    await (await chat.send('go')).outcome()
    const log = await chat.events()
    for (let at = 1; at <= log.length; at++) {
      const fork = await chat.fork({ at })
      expectNothingTold(await fork.view())
      if (at === log.length) continue
      await fork.continue()
      expect(await fork.outcome()).toMatchObject({ status: 'completed', text: 'Nothing to see.' })
    }
    expect(JSON.stringify(model.calls.map(({ prompt }) => prompt))).not.toContain('Xan')
  })
})
