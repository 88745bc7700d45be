import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/agent/define-agent.ts'
import type { Turn } from '../../src/hook/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tool/define-tool.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { toolResults } from './tool-results.ts'

type Run = (args: object, turn: Turn) => unknown

/** Lets a model call one tool, and tells what the model read, how the turn ended, and what is in the log. */
async function callOnce(story: StoryContext, run: Run, options: { timeoutMs?: number } = {}) {
  const tool = defineTool({ name: 'act', description: 'Do it', input: z.object({}), run, ...options })
  const model = scriptedModel([{ calls: [{ tool: 'act', args: {} }] }, 'Done.'])
  const agent = defineAgent({ name: 'actor', model, tools: [tool], context: { ceiling: 1_000_000 } })
  const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'actor' })
  const outcome = await (await chat.send('go')).outcome()
  const results = (await chat.events()).filter((event) => event.type === 'tool_result')
  expect(results).toHaveLength(1)
  return { outcome, read: toolResults(model, 2)[0]?.[1], recorded: results[0]!.content }
}

const completed = { status: 'completed', text: 'Done.' }
const error = (value: unknown) => ({ type: 'error-text', value })

overStores('a tool that does not do well', (story) => {
  const thrown: [string, unknown, string][] = [
    ['an error', new Error('no such order'), 'no such order'],
    ['undefined', undefined, 'it threw undefined'],
    ['null', null, 'it threw null'],
    ['a string', 'out of paper', 'out of paper'],
    ['an object', { code: 7 }, 'it threw {"code":7}'],
  ]
  test.each(thrown)('the model reads what was thrown: %s', async (_, value, message) => {
    const { outcome, read, recorded } = await callOnce(story, () => {
      throw value
    })
    expect(outcome).toMatchObject(completed)
    expect(read).toEqual(error(message))
    expect(recorded).toMatchObject({ ok: false, error: message })
    expect(recorded).not.toHaveProperty('outcome')
  })

  test('a promise that is rejected with nothing is a result too', async () => {
    const { outcome, read } = await callOnce(story, () => Promise.reject())
    expect(outcome).toMatchObject(completed)
    expect(read).toEqual(error('it threw undefined'))
  })

  test('a tool that passes its time is told, and what it did is unknown', async () => {
    let reason: unknown = null
    const { outcome, read, recorded } = await callOnce(
      story,
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason
            reject(signal.reason)
          })
        }),
      { timeoutMs: 20 },
    )
    expect(outcome).toMatchObject(completed)
    expect(reason).toMatchObject({ name: 'TimeoutError' })
    expect(read).toEqual(
      error('timed out after 20 ms: its outcome is unknown; it may have taken effect (outcome: unknown)'),
    )
    expect(recorded).toMatchObject({ ok: false, outcome: 'unknown' })
  })

  test('a tool that ignores its signal and returns late changes nothing any more', async () => {
    let finish = (): void => {}
    const run = () => new Promise((resolve) => (finish = () => resolve('too late')))
    const tool = defineTool({ name: 'act', description: 'Do it', input: z.object({}), run, timeoutMs: 20 })
    const model = scriptedModel([{ calls: [{ tool: 'act', args: {} }] }, 'Done.', 'And on.'])
    const agent = defineAgent({ name: 'actor', model, tools: [tool] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'actor' })
    expect(await (await chat.send('go')).outcome()).toMatchObject(completed)
    const before = await chat.events()
    finish()
    expect(await (await chat.send('and?')).outcome()).toMatchObject({ status: 'completed', text: 'And on.' })
    expect((await chat.events()).slice(0, before.length)).toEqual(before)
    expect(toolResults(model, 3)).toEqual(toolResults(model, 2))
  })

  test.each([
    ['a bigint', 1n, 'result is a bigint'],
    ['a function', () => 1, 'result is a function'],
    ['not a number', { total: Number.NaN }, 'result.total is NaN'],
    ['a map', { found: new Map() }, 'result.found is a Map'],
    ['something too big', 'x'.repeat(2 * 1024 * 1024), 'it has 2097154 bytes; the limit is '],
  ])('a result that cannot be recorded reads as run, not as failed: %s', async (_, value, problem) => {
    const { outcome, read, recorded } = await callOnce(story, () => value)
    expect(outcome).toMatchObject(completed)
    expect(recorded).toMatchObject({ ok: false, outcome: 'ran' })
    expect(read).toEqual(error(expect.stringContaining(`the tool ran, but its result cannot be recorded: ${problem}`)))
    expect(read).toEqual(error(expect.stringMatching(/\(outcome: ran\)$/)))
  })

  test('a result that contains itself reads as run', async () => {
    const { outcome, recorded } = await callOnce(story, () => {
      const loop: { self?: unknown } = {}
      loop.self = loop
      return loop
    })
    expect(outcome).toMatchObject(completed)
    expect(recorded).toMatchObject({ ok: false, outcome: 'ran', error: expect.stringContaining('contains itself') })
  })

  test.each([
    ['nothing is null', undefined, null],
    ['undefined members are dropped', { a: undefined, b: 1 }, { b: 1 }],
    ['toJSON is applied', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
    ['falsy values stay what they are', [0, '', false, null], [0, '', false, null]],
  ])('%s', async (_, returned, recordedAs) => {
    const { outcome, read, recorded } = await callOnce(story, () => returned)
    expect(outcome).toMatchObject(completed)
    expect(recorded).toMatchObject({ ok: true, result: recordedAs })
    expect(read).toEqual({ type: 'json', value: recordedAs })
  })

  test('a large result that fits is recorded and read whole', async () => {
    const text = 'x'.repeat(900 * 1024)
    const { outcome, read, recorded } = await callOnce(story, () => text)
    expect(outcome).toMatchObject(completed)
    expect(recorded).toMatchObject({ ok: true, result: text })
    expect(read).toEqual({ type: 'text', value: text })
  })
})
