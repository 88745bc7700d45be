import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Hook, preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { type ShapeAttributes, shape } from '../../src/define/shape.ts'
import { createTurn, inject, type Turn } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { linesOf } from './texts.ts'

vi.setConfig({ testTimeout: 30_000 })

function start(story: StoryContext, hooks: readonly Hook[], attributes: object = {}) {
  const runs: string[] = []
  const tool = (name: string) =>
    defineTool({ name, description: name, input: z.object({}), run: () => void runs.push(name) })
  const model = scriptedModel(({ n }) => `answer ${n}`)
  const agent = defineAgent({
    ...{ name: 'a', model, hooks, tools: [tool('read'), tool('write')], instructions: 'Be brief.' },
    ...{ settings: { temperature: 1, maxOutputTokens: 500 }, audit: 'full' as const },
    ...attributes,
  })
  const runtime = story.start({ agents: [agent] })
  const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'a' })
  return { model, runs, chat, agent, runtime }
}

/** Gives the model the instructions and the newest message alone. */
const newestOnly = (turn: Turn) => shape(turn, { messages: [turn.context[0]!, turn.context.at(-1)!] })

overStores('a hook that shapes a model call', (story) => {
  test('decides what the model sees in this call, and the log stays as it is', async () => {
    const hook = preHook('trim', (turn) => (turn.step === 0 ? newestOnly(turn) : undefined))
    const { chat, model } = start(story, [hook])
    for (const text of ['one', 'two']) await (await chat.send(text)).outcome()
    expect(linesOf(model.calls[1]!.prompt)).toEqual(['system: Be brief.', 'user: two'])
    expect((await chat.view()).messages).toHaveLength(4)
  })

  test('may give messages of its own, and what hooks inject follows them, durable or not', async () => {
    const hooks = [
      preHook('kept', (turn) => inject(turn, 'kept'), { durable: true }),
      preHook('own', (turn) => {
        const file = {
          type: 'file' as const,
          mediaType: 'image/png',
          data: { type: 'data' as const, data: new Uint8Array([1]) },
        }
        return shape(turn, { messages: [{ role: 'user', content: [{ type: 'text', text: 'Look.' }, file] }] })
      }),
      preHook('passing', (turn) => inject(turn, 'passing')),
    ]
    const { chat, model } = start(story, hooks)
    await (await chat.send('hello')).outcome()
    expect(linesOf(model.calls[0]!.prompt)).toEqual(['user: Look. [file]', 'user: kept passing'])
    expect(model.calls[0]!.prompt[0]!.content[1]).toMatchObject({ data: { data: new Uint8Array([1]) } })
  })

  test('is seen by the hooks after it, and tools and settings of several hooks come together', async () => {
    const seen: unknown[] = []
    const hooks = [
      preHook('first', (turn) => shape(newestOnly(turn), { tools: ['read'], settings: { temperature: 0 } })),
      preHook('second', (turn) => {
        seen.push(linesOf(turn.context as never), turn.shape?.tools)
        return shape(turn, {
          tools: ['read', 'write'],
          settings: { maxOutputTokens: 9, temperature: undefined } as never,
        })
      }),
    ]
    const { chat, model } = start(story, hooks)
    await (await chat.send('hello')).outcome()
    expect(seen).toEqual([['system: Be brief.', 'user: hello'], ['read']])
    const { options } = model.calls[0]!
    expect(options.tools?.map(({ name }) => name)).toEqual(['read'])
    expect([options.temperature, options.maxOutputTokens]).toEqual([undefined, 9])
  })

  test('keeps the model from tools: a call of another one is an error result, and the next step has them all again', async () => {
    const hook = preHook('readonly', (turn) => (turn.step === 0 ? shape(turn, { tools: ['read'] }) : undefined))
    const calls = [
      { tool: 'read', args: {} },
      { tool: 'write', args: {} },
    ]
    const model = scriptedModel([{ calls }, { calls: [{ tool: 'write', args: {} }] }, 'Done.'])
    const { chat, runs } = start(story, [hook], { model })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual(['read', 'write'])
    const results = (await chat.events()).flatMap((event) => (event.type === 'tool_result' ? [event.content] : []))
    expect(results.find(({ ok }) => !ok)).toMatchObject({
      error: "the tool 'write' cannot be called in this step; available: read",
    })
    expect(model.calls.map(({ options }) => options.tools?.length)).toEqual([1, 2, 2])
  })

  test('is in the audit with its hook, and explain says that the hook decided', async () => {
    const hooks = [
      preHook('trim', newestOnly),
      preHook('careful', (turn) => shape(turn, { tools: [], settings: { temperature: 0 } })),
    ]
    const { chat } = start(story, hooks)
    const turn = await chat.send('hello')
    await turn.outcome()
    const [call] = await chat.modelCalls()
    expect(call!.evictions).toMatchObject({
      shaped: [
        { hook: 'trim', messages: 2 },
        { hook: 'careful', tools: [], settings: { temperature: 0 } },
      ],
    })
    expect(call!.renderedContext).toMatchObject([{ role: 'system' }, { role: 'user' }])
    expect((await chat.explain(call!))[0]).toEqual({
      seq: 1,
      type: 'user_msg',
      shown: 'shaped',
      why: "the hook 'trim' decided which messages the model saw",
    })
  })

  test('changes nothing in the audit where it shaped nothing', async () => {
    const { chat } = start(story, [preHook('quiet', (turn) => turn)])
    await (await chat.send('hello')).outcome()
    expect((await chat.modelCalls())[0]!.evictions).not.toHaveProperty('shaped')
  })

  const wrong: readonly (readonly [name: string, changes: unknown, problem: RegExp])[] = [
    ['an unknown key', { tool: [] }, /unknown key 'tool'/],
    ['messages that are none', { messages: 'hello' }, /'messages' must be a list/],
    ['no messages', { messages: [] }, /shaped 'messages' that 'scripted' would refuse: the prompt has no message/],
    ['a role that there is not', { messages: [{ role: 'boss', content: 'x' }] }, /messages\[0\]\.role/],
    ['a part that there is not', { messages: [{ role: 'user', content: [{ type: 'smell' }] }] }, /content\[0\]\.type/],
    [
      'an answer as the last message',
      {
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'a' }] },
          { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
        ],
      },
      /would refuse: the last message has the role assistant/,
    ],
    [
      'a result without its call',
      {
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'a' }] },
          {
            role: 'tool',
            content: [{ type: 'tool-result', toolCallId: 'x', toolName: 'read', output: { type: 'text', value: 'y' } }],
          },
        ],
      },
      /would refuse: message 1: results follow no call/,
    ],
    ['tools that are no names', { tools: [7] }, /'tools' must be a list of names/],
    [
      'a tool that the agent has not',
      { tools: ['fly'] },
      /shaped 'tools' with 'fly', which is no tool of this agent \(available: read, write\)/,
    ],
    ['a setting that there is not', { settings: { heat: 1 } }, /unknown key 'heat'/],
    ['a setting that is wrong', { settings: { temperature: 'hot' } }, /'temperature' must be a number/],
    [
      'a choice of a tool left out',
      { tools: ['read'], settings: { toolChoice: { type: 'tool', toolName: 'write' } } },
      /'toolChoice' demands 'write'/,
    ],
  ]
  for (const [name, changes, problem] of wrong)
    test(`is refused with ${name}, and the conversation goes on`, async () => {
      const hook = preHook('odd', (turn) =>
        turn.userMessage && isText(turn, 'now') ? shape(turn, changes as ShapeAttributes) : turn,
      )
      const { chat, model } = start(story, [hook])
      const outcome = await (await chat.send('now')).outcome()
      expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringMatching(/^hook_failed: The hook 'odd'/) })
      expect(outcome).toMatchObject({ reason: expect.stringMatching(problem) })
      expect(model.calls).toHaveLength(0)
      expect(await (await chat.send('later')).outcome()).toMatchObject({ status: 'completed' })
    })

  test('fails the turn where its messages do not fit the context window', async () => {
    const long = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'word '.repeat(2_000) }] }]
    const hook = preHook('long', (turn) => (isText(turn, 'now') ? shape(turn, { messages: long }) : turn))
    const { chat, model } = start(story, [hook], { context: { ceiling: 1_000, workingBudget: 900 } })
    expect(await (await chat.send('now')).outcome()).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^context_overflow: .*the messages that the hook 'long' shaped/),
    })
    expect(model.calls).toHaveLength(0)
    expect(await (await chat.send('later')).outcome()).toMatchObject({ status: 'completed' })
  })

  const meddling: readonly (readonly [member: string, meddle: (turn: Turn) => unknown])[] = [
    ['scope', (turn) => createTurn({ ...turn, scope: createScope({ user: 'eve' }) })],
    ['userMessage', (turn) => createTurn({ ...turn, userMessage: { parts: [] } })],
    ['context', (turn) => createTurn({ ...turn, context: [] })],
    ['turnId', (turn) => createTurn({ ...turn, turnId: 'other' })],
    ['signal', (turn) => createTurn({ ...turn, signal: new AbortController().signal })],
  ]
  for (const [member, meddle] of meddling)
    test(`and one that changes ${member} of the turn in any other way is refused by name`, async () => {
      const { chat, model } = start(story, [preHook('sly', meddle as never)])
      expect(await (await chat.send('hello')).outcome()).toMatchObject({
        status: 'failed',
        reason: `hook_failed: The hook 'sly' changed '${member}' of the turn, but a hook may only inject and shape. Correct the hook.`,
      })
      expect(model.calls).toHaveLength(0)
    })

  test('and one that changes what it was shown in place is refused too', async () => {
    const { chat } = start(story, [preHook('sly', (turn) => void (turn.context as unknown[]).pop())])
    expect(await (await chat.send('hello')).outcome()).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^hook_failed: The hook 'sly' threw TypeError/),
    })
  })

  test('cannot be durable, because the log has only what it injects', async () => {
    const { chat } = start(story, [preHook('both', newestOnly, { durable: true })])
    expect(await (await chat.send('hello')).outcome()).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^hook_failed: The hook 'both' is durable and shaped the call/),
    })
  })

  test('sees the same context, and gives the same prompt, when it runs again after a crash', async () => {
    const contexts: string[][] = []
    const hooks = [
      preHook('kept', (turn) => inject(turn, 'kept'), { durable: true }),
      preHook('trim', (turn) => {
        contexts.push(linesOf(turn.context as never))
        return newestOnly(turn)
      }),
    ]
    const data = story.openStore()
    const prompts: string[][] = []
    const model = scriptedModel(({ n, prompt }) => {
      prompts.push(linesOf(prompt))
      if (n === 1) dying.kill()
      return 'fine'
    })
    const agent = defineAgent({ name: 'a', model, hooks, instructions: 'Be brief.' })
    const dying = mortalStore(data)
    const first = story.start({ agents: [agent], store: dying.store, leaseMs: 500 })
    const turn = await first.conversation('c1', { agent: 'a' }).send('hello')
    const second = story.start({ agents: [agent], store: story.reopen(data), leaseMs: 500 })
    expect(await second.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(contexts[1]).toEqual(contexts[0])
    expect(prompts.at(-1)).toEqual(prompts[0])
    expect(prompts[0]).toEqual(['system: Be brief.', 'user: hello', 'user: kept'])
  })
})

function isText({ userMessage }: Turn, text: string): boolean {
  const [part] = userMessage?.parts ?? []
  return part?.type === 'text' && part.text === text
}
