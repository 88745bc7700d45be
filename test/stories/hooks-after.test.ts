import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Hook, halt, postHook, regenerate } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { FinalMessage } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { recordedStore } from './recorded-store.ts'
import { linesOf, shapeOf } from './texts.ts'

function start(story: StoryContext, hooks: readonly Hook[], attributes: object = {}) {
  const runs: string[] = []
  const act = defineTool({ name: 'act', description: 'Act', input: z.object({}), run: () => void runs.push('act') })
  const model = scriptedModel(({ n }) => `answer ${n}`)
  const agent = defineAgent({ name: 'a', model, hooks, tools: [act], ...attributes })
  const { store, commits } = recordedStore(story.openStore())
  const chat = story
    .start({ agents: [agent], store })
    .as(createScope({ user: 'ann' }))
    .conversation('c1', { agent: 'a' })
  return { model, commits, runs, chat }
}

overStores('hooks after a model call', (story) => {
  test('see the finished message, with its calls, before anybody acts on it', async () => {
    const seen: (FinalMessage | null)[] = []
    const model = scriptedModel([{ reasoning: 'hm', text: 'I act.', calls: [{ tool: 'act', args: {} }] }, 'Done.'])
    const hook = postHook('watch', (turn) => {
      expect(turn.scope.user).toBe('ann')
      seen.push(turn.assistantMessage)
    })
    const { chat, runs } = start(story, [hook], { model })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed' })
    expect(seen).toMatchObject([
      { text: 'I act.', calls: [{ name: 'act', args: {} }], finishReason: 'tool-calls', usage: { inputTokens: 10 } },
      { text: 'Done.', calls: [] },
    ])
    expect(runs).toEqual(['act'])
    const messages = (await chat.events()).filter((event) => event.type === 'assistant_msg')
    expect(messages.map((event) => event.content.messageId)).toEqual(seen.map((message) => message?.messageId))
  })

  test('may halt: message and end are one commit, its calls stay words and are not run', async () => {
    const model = scriptedModel({ text: 'I act.', calls: [{ tool: 'act', args: {} }] })
    const { chat, runs, commits } = start(story, [postHook('strict', () => halt('no acting'))], { model })
    const outcome = await (await chat.send('go')).outcome()
    expect(outcome).toMatchObject({ status: 'halted', reason: 'no acting', text: '' })
    expect(runs).toEqual([])
    expect(commits.at(-1)?.events.map((event) => event.type)).toEqual(['withheld', 'assistant_msg', 'turn_ended'])
    const message = (await chat.events()).find((event) => event.type === 'assistant_msg')
    expect(message?.content.parts.map((part) => part.type)).toEqual(['text', 'plain_call'])
    checkHistory(await chat.events())
  })

  test('may have it written anew: the verdict is in the message’s own commit, and the model reads why', async () => {
    const short = postHook('short', (turn) =>
      (turn.assistantMessage?.text.length ?? 0) > 10 ? regenerate('At most ten letters.') : undefined,
    )
    const model = scriptedModel([{ text: 'A very long answer.', calls: [{ tool: 'act', args: {} }] }, 'Short.'])
    const { chat, runs, commits } = start(story, [short], { model })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed', text: 'Short.' })
    expect(runs).toEqual([])
    expect(linesOf(model.calls[1]!.prompt)).toEqual(['user: go', 'user: At most ten letters.'])
    const types = commits.map(({ events }) => events.map((event) => event.type))
    expect(types).toContainEqual(['withheld', 'assistant_msg', 'regeneration'])
    const view = await chat.view()
    expect(view.messages.map((message) => JSON.stringify(message.parts))).toEqual([
      expect.stringContaining('go'),
      expect.stringContaining('Short.'),
    ])
  })

  test('may have it written anew at most so many times; then the turn is halted', async () => {
    const never = postHook('never', () => regenerate('again'))
    for (const [maxRegenerations, calls] of [
      [0, 1],
      [2, 3],
    ]) {
      const { chat, model } = start(story, [never], { maxRegenerations })
      const outcome = await (await chat.send('go')).outcome()
      expect(outcome).toMatchObject({ status: 'halted', reason: 'max_regenerations' })
      expect(model.calls).toHaveLength(calls!)
      checkHistory(await chat.events())
    }
  })

  test('each turn has its own count of messages written anew', async () => {
    let asked = 0
    const sometimes = postHook('sometimes', () => {
      asked += 1
      return asked % 2 === 1 ? regenerate('again') : undefined
    })
    const { chat } = start(story, [sometimes], { maxRegenerations: 1 })
    for (const text of ['one', 'two', 'three']) {
      expect(await (await chat.send(text)).outcome()).toMatchObject({ status: 'completed' })
    }
  })

  test('the first verdict wins, and later hooks are not asked', async () => {
    const asked: string[] = []
    const hook = (name: string, verdict: ReturnType<typeof halt> | undefined) =>
      postHook(name, () => {
        asked.push(name)
        return verdict
      })
    const { chat } = start(story, [hook('one', undefined), hook('two', halt('two')), hook('three', halt('three'))])
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'halted', reason: 'two' })
    expect(asked).toEqual(['one', 'two'])
  })

  test('that throw, time out or return nonsense fail the turn, naming the hook', async () => {
    const bad: [string, () => never, RegExp][] = [
      ['thrower', () => thrown(new Error('out of luck')), /^hook_failed: .*'thrower'.*out of luck/],
      ['sleeper', () => new Promise(() => {}) as never, /^hook_failed: .*'sleeper'.*longer than 30 ms/],
      ['liar', () => 'fine' as never, /^hook_failed: .*'liar'.*must return/],
    ]
    for (const [name, run, reason] of bad) {
      const { chat } = start(story, [postHook(name, run)], { hookTimeoutMs: 30 })
      const outcome = await (await chat.send('hello')).outcome()
      expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringMatching(reason) })
      expect(shapeOf(await chat.events()).at(-1)).toBe('turn_ended failed')
      expect((await chat.view()).drafts).toEqual([])
    }
  })

  test('see the object of a structured output, and are not asked about one that does not fit', async () => {
    const seen: unknown[] = []
    const hook = postHook('watch', (turn) => void seen.push(turn.assistantMessage?.object))
    const model = scriptedModel(['no object', { object: { n: 1 } }])
    const { chat } = start(story, [hook], { model, output: z.object({ n: z.number() }) })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed', object: { n: 1 } })
    expect(seen).toEqual([{ n: 1 }])
  })

  test('are not asked about a message that failed or was cancelled', async () => {
    const seen: unknown[] = []
    const hook = postHook('watch', (turn) => void seen.push(turn.assistantMessage))
    const model = scriptedModel({ text: ['Once ', 'upon'], cutAfter: 1 })
    const { chat } = start(story, [hook], { model, retry: false })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'failed', text: '' })
    expect(seen).toEqual([])
  })
})

function thrown(error: Error): never {
  throw error
}
