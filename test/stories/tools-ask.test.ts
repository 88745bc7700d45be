import { expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { Turn } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { checkHistory } from '../log/check-history.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { shapeOf } from './texts.ts'
import { toolResults } from './tool-results.ts'

vi.setConfig({ testTimeout: 30_000 })

const quick = { leaseMs: 200, pollMs: 20 }
const size = { type: 'object', properties: { size: { type: 'integer', minimum: 30 } }, required: ['size'] } as const

type Order = (turn: Turn) => unknown

/** A shop whose tool is this function; `attempts` counts its runs, of all processes. */
function shop(order: Order, attempts: (string | null)[] = []) {
  const tool = defineTool({
    name: 'order',
    description: 'Order shoes',
    input: { type: 'object' },
    run: (_, turn) => {
      attempts.push(turn.callId)
      return order(turn)
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'order', args: {} }] },
  )
  return { model, agent: defineAgent({ name: 'shop', model, tools: [tool] }), attempts }
}

/** Asks for a size, then answers with it and with what it kept. */
const asksOnce: Order = (turn) =>
  turn.answer
    ? { got: turn.answer.value, kept: turn.answer.state, by: turn.answer.who }
    : turn.ask({ prompt: 'Which size?', schema: size, state: { cart: 'c-1' } })

overStores('a server tool that asks', (story) => {
  test('waits as a question in the inbox, and is run again with the answer and its state', async () => {
    const made = shop(asksOnce)
    const store = story.openStore()
    const runtime = story.start({ agents: [made.agent], store })
    const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'shop' })
    const turn = await chat.send('shoes')
    const item = await onlyPendingOf(turn)
    expect(item).toMatchObject({ kind: 'elicitation', tool: 'order', prompt: 'Which size?', round: 1, schema: size })
    expect(JSON.stringify(item)).not.toContain('c-1')
    await expect(chat.answer(item, { size: 7 })).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await chat.answer(item, { size: 42 })).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(toolResults(made.model, 2)).toEqual([
      ['order', { type: 'json', value: { got: { size: 42 }, kept: { cart: 'c-1' }, by: 'ann' } }],
    ])
    expect(new Set(made.attempts).size).toBe(1)
    const log = await chat.events()
    expect(shapeOf(log).slice(3)).toEqual([
      ...['tool_started', 'tool_asked', 'suspension', 'resolution resolved', 'tool_started', 'tool_result'],
      ...['assistant_msg complete', 'turn_ended completed'],
    ])
    checkHistory(log)
    expect(await examineStore(store)).toMatchObject({ faults: 0, notices: 0 })
  })

  test('is answered in another process after its own has died', async () => {
    const [first, second] = [shop(asksOnce), shop(asksOnce)]
    const data = story.openStore()
    const dying = mortalStore(data)
    const before = story.start({ agents: [first.agent], store: dying.store, ...quick })
    const turn = await before.conversation('c1', { agent: 'shop' }).send('shoes')
    const item = await onlyPendingOf(turn)
    dying.kill()

    const chat = story.start({ agents: [second.agent], store: story.reopen(data), ...quick }).conversation('c1')
    expect(await chat.answer(item, { size: 42 })).toEqual({ accepted: true })
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect([first.attempts.length, second.attempts.length]).toEqual([1, 1])
  })

  test('may ask again, each time in a round of its own, but not without end', async () => {
    const made = shop((turn) =>
      turn.ask({ prompt: 'And?', state: { n: Number(Object(turn.answer?.state).n ?? 0) + 1 } }),
    )
    const chat = story.start({ agents: [made.agent], store: story.openStore() }).conversation('c1', { agent: 'shop' })
    const turn = await chat.send('shoes')
    for (let round = 1; round <= 20; round++) {
      const item = await onlyPendingOf(turn)
      expect(item.round).toBe(round)
      await chat.answer(item, 'more')
    }
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(made.model, 2)).toMatchObject([['order', { value: expect.stringContaining('20 times') }]])
    expect(made.attempts).toHaveLength(21)
  })

  test('gets no answer when the question expires or the turn is cancelled: the call ends, and it is not run again', async () => {
    const made = shop((turn) => turn.ask({ prompt: 'Which size?', expiresInMs: 30 }))
    const runtime = story.start({ agents: [made.agent], store: story.openStore() })
    const late = await runtime.conversation('late', { agent: 'shop' }).send('shoes')
    await onlyPendingOf(late).catch(() => null)
    await expect.poll(() => late.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(made.model, 2)).toMatchObject([['order', { value: expect.stringContaining('expired') }]])

    const slow = shop(asksOnce)
    const other = story.start({ agents: [slow.agent], store: story.openStore() }).conversation('c2', { agent: 'shop' })
    const turn = await other.send('shoes')
    await onlyPendingOf(turn)
    await other.cancel()
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled' })
    expect([made.attempts.length, slow.attempts.length]).toEqual([1, 1])
  })

  test('cannot ask what cannot be recorded or checked: the call ends with an error', async () => {
    for (const [question, problem] of [
      [{ prompt: 'x'.repeat(70_000) }, 'prompt'],
      [{ prompt: 'x', state: 'x'.repeat(70_000) }, 'state'],
      [{ prompt: 'x', schema: { $ref: '#/nowhere' } }, 'schema'],
      [{ prompt: 'x', expiresInMs: -1 }, 'expiresInMs'],
    ] as const) {
      const made = shop((turn) => turn.ask(question as never))
      const chat = story.start({ agents: [made.agent], store: story.openStore() }).conversation('c1', { agent: 'shop' })
      expect(await (await chat.send('shoes')).outcome()).toMatchObject({ status: 'completed' })
      expect(toolResults(made.model, 2)).toMatchObject([['order', { value: expect.stringContaining(problem) }]])
    }
  })
})
