import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Turn } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { toolResults } from './tool-results.ts'

type Run = (args: object, turn: Turn) => unknown

/** Lets a model call a tool for each of these in one message, and tells what it read of each, and what is in the log. */
async function callEach(story: StoryContext, runs: Record<string, Run>, options: { timeoutMs?: number } = {}) {
  const names = Object.keys(runs)
  const tools = names.map((name) =>
    defineTool({ name, description: 'Do it', input: z.object({}), run: runs[name]!, ...options }),
  )
  const model = scriptedModel([{ calls: names.map((tool) => ({ tool, args: {} })) }, 'Done.', 'And on.'])
  const agent = defineAgent({ name: 'actor', model, tools, context: { ceiling: 1_000_000 } })
  const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'actor' })
  expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
  const events = await chat.events()
  const nameOf = new Map(
    events.flatMap((event) =>
      event.type === 'tool_call' ? [[event.content.callId, event.content.name] as const] : [],
    ),
  )
  const results = events.flatMap((event) => {
    if (event.type !== 'tool_result') return []
    const { callId, ...result } = event.content
    return [[nameOf.get(callId), result] as const]
  })
  expect(results.map(([name]) => name).toSorted()).toEqual(names.toSorted())
  return { chat, model, read: Object.fromEntries(toolResults(model, 2)), recorded: Object.fromEntries(results) }
}

const error = (value: unknown) => ({ type: 'error-text', value })
const throwing = (value: unknown) => (): never => {
  throw value
}

overStores('a tool that does not do well', (story) => {
  test('whatever it throws, the model reads it', async () => {
    const { read, recorded } = await callEach(story, {
      an_error: throwing(new Error('no such order')),
      nothing: throwing(undefined),
      null: throwing(null),
      a_string: throwing('out of paper'),
      an_object: throwing({ code: 7 }),
      a_rejection: () => Promise.reject(),
    })
    const told = {
      an_error: 'no such order',
      nothing: 'it threw undefined',
      null: 'it threw null',
      a_string: 'out of paper',
      an_object: 'it threw {"code":7}',
      a_rejection: 'it threw undefined',
    }
    for (const [name, message] of Object.entries(told)) {
      expect(read[name]).toEqual(error(message))
      expect(recorded[name]).toEqual({ ok: false, error: message })
    }
  })

  test('a tool that passes its time is told, and what it did is unknown', async () => {
    let reason: unknown = null
    const obedient: Run = (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason
          reject(signal.reason)
        })
      })
    const { read, recorded } = await callEach(story, { obedient }, { timeoutMs: 20 })
    expect(reason).toMatchObject({ name: 'TimeoutError' })
    expect(recorded['obedient']).toMatchObject({ ok: false, outcome: 'unknown' })
    expect(read['obedient']).toEqual(
      error('timed out after 20 ms: its outcome is unknown; it may have taken effect (outcome: unknown)'),
    )
  })

  test('a tool that ignores its signal and returns late changes nothing any more', async () => {
    let finish = (): void => {}
    const deaf: Run = () => new Promise((resolve) => (finish = () => resolve('too late')))
    const { chat, model } = await callEach(story, { deaf }, { timeoutMs: 20 })
    const before = await chat.events()
    finish()
    expect(await (await chat.send('and?')).outcome()).toMatchObject({ status: 'completed', text: 'And on.' })
    expect((await chat.events()).slice(0, before.length)).toEqual(before)
    expect(toolResults(model, 3)).toEqual(toolResults(model, 2))
  })

  test('a result that cannot be recorded reads as run, not as failed', async () => {
    const loop: { self?: unknown } = {}
    loop.self = loop
    const { read, recorded } = await callEach(story, {
      a_bigint: () => 1n,
      a_function: () => () => 1,
      not_a_number: () => ({ total: Number.NaN }),
      a_map: () => ({ found: new Map() }),
      a_loop: () => loop,
      too_big: () => 'x'.repeat(2 * 1024 * 1024),
      a_trap: () => ({ toJSON: throwing(new Error('a trap')) }),
    })
    const problems = {
      a_bigint: 'result is a bigint',
      a_function: 'result is a function',
      not_a_number: 'result.total is NaN',
      a_map: 'result.found is a Map',
      a_loop: 'result.self contains itself',
      too_big: 'it has 2097154 bytes; the limit is ',
      a_trap: 'a trap',
    }
    for (const [name, problem] of Object.entries(problems)) {
      const told = `the tool ran, but its result cannot be recorded: ${problem}`
      expect(recorded[name]).toMatchObject({ ok: false, outcome: 'ran', error: expect.stringContaining(told) })
      expect(read[name]).toEqual(error(expect.stringContaining(told)))
      expect(read[name]).toEqual(error(expect.stringMatching(/\(outcome: ran\)$/)))
    }
  })

  test('a result is recorded as JSON has it, and read whole', async () => {
    const long = 'x'.repeat(900 * 1024)
    const { read, recorded } = await callEach(story, {
      nothing: () => undefined,
      undefined_members: () => ({ a: undefined, b: 1 }),
      a_date: () => ({ at: new Date(0) }),
      falsy: () => [0, '', false, null],
      long: async () => long,
    })
    const values = {
      nothing: null,
      undefined_members: { b: 1 },
      a_date: { at: '1970-01-01T00:00:00.000Z' },
      falsy: [0, '', false, null],
      long,
    }
    for (const [name, value] of Object.entries(values)) {
      expect(recorded[name]).toEqual({ ok: true, result: value })
      expect(read[name]).toMatchObject({ value })
    }
  })
})
