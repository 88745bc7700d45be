import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

const quick = { leaseMs: 200, pollMs: 20 }
const unknown =
  'interrupted: the tool was started and its outcome is unknown; it may have taken effect (outcome: unknown)'

/** An agent whose tool hangs until it is let go, as if each process had a new build of it. */
function mailer() {
  const started = gate()
  const finish = gate<string>()
  const signals: AbortSignal[] = []
  const send = defineTool({
    name: 'send_mail',
    description: 'Send a mail',
    input: z.object({ to: z.string() }),
    run: (_, { signal }) => {
      signals.push(signal)
      started.open()
      return finish.opened
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool')
      ? 'I do not know whether it was sent.'
      : { calls: [{ tool: 'send_mail', args: { to: 'ann' } }] },
  )
  return { agent: defineAgent({ name: 'mailer', model, tools: [send] }), model, started, finish, signals }
}

overStores('a tool that was interrupted and is not run again', (story) => {
  test('when the process dies, the next one reports that the outcome is unknown', async () => {
    const [first, second] = [mailer(), mailer()]
    const data = story.openStore()
    const dying = mortalStore(data)
    const turn = await story
      .start({ agents: [first.agent], store: dying.store, ...quick })
      .conversation('c1', { agent: 'mailer' })
      .send('mail ann')
    await first.started.opened
    dying.kill()

    const chat = story
      .start({ agents: [second.agent], store: story.reopen(data), ...quick })
      .conversation('c1', { agent: 'mailer' })
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({
      status: 'completed',
      text: 'I do not know whether it was sent.',
    })
    expect(second.signals).toHaveLength(0)
    expect(toolResults(second.model, 1)).toEqual([['send_mail', { type: 'error-text', value: unknown }]])
  })

  test.each([
    ['it is told to stop', true],
    ['it returned before it knew', false],
  ])('the late result of a process that was only slow is not taken: %s', async (_, waitsForSignal) => {
    const [first, second] = [mailer(), mailer()]
    const data = story.openStore()
    const slow = mortalStore(data)
    const turn = await story
      .start({ agents: [first.agent], store: slow.store, ...quick })
      .conversation('c1', { agent: 'mailer' })
      .send('mail ann')
    await first.started.opened
    slow.freeze()

    const chat = story
      .start({ agents: [second.agent], store: story.reopen(data), ...quick })
      .conversation('c1', { agent: 'mailer' })
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    if (waitsForSignal) await until(() => first.signals[0]?.aborted)
    first.finish.open('sent')
    expect(await (await chat.send('well?')).outcome()).toMatchObject({ status: 'completed' })
    expect((await chat.events()).filter((event) => event.type === 'tool_result')).toMatchObject([
      { content: { ok: false, outcome: 'unknown' } },
    ])
  })

  test('when the runtime is closed it records at once what did not finish, and nothing guesses later', async () => {
    const [first, second] = [mailer(), mailer()]
    const data = story.openStore()
    const runtime = story.start({ agents: [first.agent], store: data })
    const chat = runtime.conversation('c1', { agent: 'mailer' })
    const turn = await chat.send('mail ann')
    await first.started.opened
    await runtime.close({ drainMs: 0 })
    expect(first.signals[0]?.aborted).toBe(true)
    expect((await data.streamEvents('c1')).at(-1)).toMatchObject({
      type: 'tool_result',
      content: { ok: false, outcome: 'unknown' },
    })

    const next = story.start({ agents: [second.agent], store: story.reopen(data) })
    expect(await next.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(second.signals).toHaveLength(0)
    expect(toolResults(second.model, 1)).toEqual([['send_mail', { type: 'error-text', value: unknown }]])
  })

  test('a tool that finishes while the runtime drains is not interrupted', async () => {
    const { agent, model, started, finish } = mailer()
    const data = story.openStore()
    const runtime = story.start({ agents: [agent], store: data })
    const turn = await runtime.conversation('c1', { agent: 'mailer' }).send('mail ann')
    await started.opened
    const closed = runtime.close({ drainMs: 20_000 })
    finish.open('sent')
    await closed
    expect(toolResults(model, 2)).toEqual([['send_mail', { type: 'text', value: 'sent' }]])
    const log = await data.streamEvents('c1')
    expect(log.at(-1)).toMatchObject({ type: 'turn_ended', content: { turnId: turn.turnId, status: 'completed' } })
  })

  test('calls that were never started are simply run by the next process', async () => {
    const runs: string[] = []
    const hanging = gate()
    const build = (isHanging: boolean) => {
      const act = defineTool({
        name: 'act',
        description: 'Do it',
        input: z.object({ n: z.number() }),
        run: ({ n }) => {
          runs.push(`${n}${isHanging ? ' hangs' : ''}`)
          if (!isHanging) return n
          hanging.open()
          return new Promise(() => {})
        },
      })
      const model = scriptedModel(({ prompt }) =>
        prompt.some((message) => message.role === 'tool')
          ? 'Done.'
          : { calls: [1, 2, 3].map((n) => ({ tool: 'act', args: { n } })) },
      )
      return { agent: defineAgent({ name: 'actor', model, tools: [act], maxParallelCalls: 1 }), model }
    }
    const data = story.openStore()
    const dying = mortalStore(data)
    const turn = await story
      .start({ agents: [build(true).agent], store: dying.store, ...quick })
      .conversation('c1', { agent: 'actor' })
      .send('go')
    await hanging.opened
    dying.kill()
    const { agent, model } = build(false)
    const next = story.start({ agents: [agent], store: story.reopen(data), ...quick })
    expect(await next.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual(['1 hangs', '2', '3'])
    expect(toolResults(model, 1).map(([, output]) => output)).toEqual([
      { type: 'error-text', value: unknown },
      { type: 'json', value: 2 },
      { type: 'json', value: 3 },
    ])
  })
})
