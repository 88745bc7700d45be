import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Logger } from '../../src/base/logger.ts'
import { type Hook, halt, preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { inject, type Turn } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { linesOf, shapeOf } from './texts.ts'

function start(story: StoryContext, hooks: readonly Hook[], attributes: object = {}) {
  const model = scriptedModel(({ n }) => `answer ${n}`)
  const warnings: string[] = []
  const logger: Logger = { debug: () => {}, info: () => {}, warn: (text) => warnings.push(text), error: () => {} }
  const agent = defineAgent({ name: 'a', model, hooks, ...attributes })
  const runtime = story.start({ agents: [agent], logger })
  const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'a' })
  return { model, warnings, chat }
}

overStores('hooks before a model call', (story) => {
  test('run in order, see what came before them, and add to the end of the prompt of that one call', async () => {
    const seen: unknown[] = []
    const watchful = (name: string) =>
      preHook(name, (turn) => {
        seen.push([name, turn.scope.user, turn.injections.length, linesOf(turn.context as never), turn.turnRef])
        return inject(turn, `from ${name}`)
      })
    const { chat, model } = start(story, [watchful('first'), watchful('second')])
    const turn = await chat.send('hello')
    await turn.outcome()
    expect(seen).toEqual([
      ['first', 'ann', 0, ['user: hello'], `${turn.turnId}/0000`],
      ['second', 'ann', 1, ['user: hello'], `${turn.turnId}/0000`],
    ])
    expect(linesOf(model.calls[0]!.prompt)).toEqual(['user: hello', 'user: from first from second'])
    await (await chat.send('again')).outcome()
    expect(linesOf(model.calls[1]!.prompt)).toEqual([
      'user: hello',
      'assistant: answer 1',
      'user: again',
      'user: from first from second',
    ])
    expect(shapeOf(await chat.events())).not.toContain('injection')
  })

  test('are told which turn of which conversation they are for', async () => {
    const told: unknown[] = []
    const asking = preHook('asking', ({ agent, conversationId, turnId, step }) => {
      told.push({ agent, conversationId, turnId, step })
    })
    const { chat } = start(story, [asking])
    const turn = await chat.send('hello')
    await turn.outcome()
    expect(told).toEqual([{ agent: 'a', conversationId: 'c1', turnId: turn.turnId, step: 0 }])
  })

  test('that are parallel run together, and what they add is in the order they were declared', async () => {
    const isBoth = gate()
    let inside = 0
    const together = (name: string, delayMs: number) =>
      preHook(
        name,
        async () => {
          inside += 1
          if (inside === 2) isBoth.open()
          await isBoth.opened
          await new Promise((resolve) => setTimeout(resolve, delayMs))
          return `from ${name}`
        },
        { mode: 'parallel' },
      )
    const { chat, model } = start(story, [together('slow', 10), together('quick', 0)])
    await (await chat.send('hello')).outcome()
    expect(linesOf(model.calls[0]!.prompt)).toEqual(['user: hello', 'user: from slow from quick'])
  })

  test('that are parallel and fail or take too long are skipped, which is logged', async () => {
    const broken = preHook('broken', () => Promise.reject<string>(new Error('no')), { mode: 'parallel' })
    const late = preHook('late', () => new Promise<string>(() => {}), { mode: 'parallel' })
    const fine = preHook('fine', () => 'from fine', { mode: 'parallel' })
    const { chat, model, warnings } = start(story, [broken, late, fine], { hookTimeoutMs: 30 })
    expect(await (await chat.send('hello')).outcome()).toMatchObject({ status: 'completed' })
    expect(linesOf(model.calls[0]!.prompt)).toEqual(['user: hello', 'user: from fine'])
    expect(warnings.filter((text) => text.includes('was skipped'))).toHaveLength(2)
  })

  test('that are parallel and return a turn, a halt or nonsense fail the turn: nothing they say goes unheard', async () => {
    const bad: [string, (turn: Turn) => unknown, RegExp][] = [
      ['changer', (turn) => inject(turn, 'x'), /'changer' runs in parallel and returned a turn; return the parts/],
      [
        'guard',
        () => halt('not that'),
        /'guard' runs in parallel and returned halt\(reason\); .*make the hook sequential/,
      ],
      ['liar', () => ({ injections: ['x'] }), /'liar' returned something that is not text or parts/],
    ]
    for (const [name, run, reason] of bad) {
      const odd = preHook(
        name,
        (turn) => (JSON.stringify(turn.userMessage).includes('now') ? run(turn) : undefined) as never,
        { mode: 'parallel' },
      )
      const { chat, model } = start(story, [odd])
      const outcome = await (await chat.send('now')).outcome()
      expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringMatching(/^hook_failed: /) })
      expect(outcome).toMatchObject({ reason: expect.stringMatching(reason) })
      expect(model.calls).toEqual([])
      expect(await (await chat.send('later')).outcome()).toMatchObject({ status: 'completed' })
    }
  })

  test('may halt the turn: the model is not asked, and the next turn is its own', async () => {
    const strict = preHook('strict', (turn) =>
      JSON.stringify(turn.userMessage).includes('forbidden') ? halt('not that') : undefined,
    )
    const { chat, model } = start(story, [strict])
    expect(await (await chat.send('forbidden')).outcome()).toMatchObject({ status: 'halted', reason: 'not that' })
    expect(model.calls).toEqual([])
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'turn_ended halted'])
    expect(await (await chat.send('allowed')).outcome()).toMatchObject({ status: 'completed' })
  })

  test('that throw, time out or return nonsense fail the turn, naming the hook', async () => {
    const bad: [string, (turn: Turn) => never, RegExp][] = [
      ['thrower', () => thrown(new Error('out of luck')), /^hook_failed: .*'thrower'.*out of luck/],
      ['sleeper', () => new Promise(() => {}) as never, /^hook_failed: .*'sleeper'.*longer than 30 ms/],
      ['liar', () => ({ injections: ['x'] }) as never, /^hook_failed: .*'liar'.*must return/],
    ]
    for (const [name, run, reason] of bad) {
      const { chat, model } = start(story, [preHook(name, run)], { hookTimeoutMs: 30 })
      const outcome = await (await chat.send('hello')).outcome()
      expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringMatching(reason) })
      expect(model.calls).toEqual([])
    }
  })

  test('that add more than the reserve fail the turn, naming the hook; nothing is cut', async () => {
    const modest = preHook('modest', (turn) => inject(turn, 'short'))
    const greedy = preHook('greedy', (turn) => inject(turn, 'word '.repeat(200)))
    const { chat, model } = start(story, [modest, greedy], { context: { injectionReserve: 100 } })
    const outcome = await (await chat.send('hello')).outcome()
    expect(outcome).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^injection_overflow: .*'greedy'.*'injectionReserve' allows 100/),
    })
    expect(model.calls).toEqual([])
  })

  test('run before each model call of a turn, and are told when it is cancelled', async () => {
    const refs: (string | null)[] = []
    const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'a hat' })
    const counting = preHook('counting', (turn) => void refs.push(turn.turnRef))
    const model = scriptedModel([{ calls: [{ tool: 'look', args: {} }] }, 'A hat.'])
    const { chat } = start(story, [counting], { model, tools: [look] })
    const turn = await chat.send('hello')
    await turn.outcome()
    expect(refs).toEqual([`${turn.turnId}/0000`, `${turn.turnId}/0001`])

    const isIn = gate<AbortSignal>()
    const hanging = preHook('hanging', ({ signal }) => {
      isIn.open(signal)
      return new Promise<never>(() => {})
    })
    const other = start(story, [hanging])
    await other.chat.send('hello')
    const signal = await isIn.opened
    expect(signal.aborted).toBe(false)
    await other.chat.cancel()
    expect(signal.aborted).toBe(true)
  })

  test('cannot change who acts', async () => {
    const scopes: (string | undefined)[] = []
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({}),
      run: (_, turn) => void scopes.push(turn.scope.user),
    })
    const impostor = preHook('impostor', (turn) => {
      expect(() => Object.assign(turn, { scope: createScope({ user: 'root' }) })).toThrow(TypeError)
      return inject({ ...turn, scope: createScope({ user: 'root' }) }, 'hello')
    })
    const model = scriptedModel([{ calls: [{ tool: 'look', args: {} }] }, 'Done.'])
    const { chat } = start(story, [impostor], { model, tools: [look] })
    expect(await (await chat.send('hello')).outcome()).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^hook_failed: The hook 'impostor' changed 'scope' of the turn/),
    })
    expect(scopes).toEqual([])
  })
})

function thrown(error: Error): never {
  throw error
}
