import { expect, test } from 'vitest'
import { z } from 'zod'
import type { JsonObject } from '../../src/base/json.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Schema } from '../../src/define/schema.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { doubling } from '../schemas/hostile-pairs.ts'
import { exported, importText } from '../upkeep/exported.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

/** No engine with a bound has it, so that it shows whose regular expressions are used. */
const twice = { pattern: '^(a+)b\\1$' }
const answer = JSON.stringify('aabaa')

function version(output: Schema) {
  return defineAgent({ name: 'helper', model: scriptedModel(() => answer), output })
}

overStores('schemas of turns', (story) => {
  test.each<[string, JsonObject, string]>([
    ['that doubles forty times', doubling(40), 'schema_too_complex'],
    ['with a back reference', twice, 'schema_too_complex'],
    ['that makes no sense', { required: 'all' }, 'invalid_argument'],
  ])('one %s is refused when it is sent, and nothing is kept', async (_, output, code) => {
    const runtime = story.start({ agents: [version({})] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await expect(chat.send('hi', { output, key: 'one' })).rejects.toMatchObject({ code })
    expect(await runtime.store.getConversation('c1')).toBeNull()
    expect(await (await chat.send('hi', { key: 'one' })).outcome()).toMatchObject({ status: 'completed' })
  })

  test("the agent's own keeps the regular expressions of JavaScript, by whichever process it is checked", async () => {
    const store = story.openStore()
    const front = story.start({ agents: [version(twice)], store, work: false })
    const turn = await front.conversation('c1', { agent: 'helper' }).send('hi')
    const back = story.start({ agents: [version(twice)], store: story.reopen(store) })
    const outcome = await back.conversation('c1').turn(turn.turnId).outcome()
    expect(outcome).toMatchObject({ status: 'completed', object: 'aabaa' })
  })

  test('and in a fork', async () => {
    const runtime = story.start({ agents: [version(twice)] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await (await chat.send('hi')).outcome()
    const fork = await chat.fork({ at: 1 })
    await fork.continue()
    expect(await fork.outcome()).toMatchObject({ status: 'completed', object: 'aabaa' })
  })

  test('after a deploy that changed it, the turn is checked by the one it was opened with, within bounds', async () => {
    const store = story.openStore()
    const before = story.start({ agents: [version({ pattern: '^(?=a)a+b' })], store, work: false })
    const turn = await before.conversation('c1', { agent: 'helper' }).send('hi')
    const after = story.start({ agents: [version({ type: 'number' })], store: story.reopen(store) })
    const outcome = await after.conversation('c1').turn(turn.turnId).outcome()
    expect(outcome).toMatchObject({ status: 'completed', object: 'aabaa' })
  })

  test('and fails when that has no bound, which no log can claim it need not have', async () => {
    const store = story.openStore()
    const before = story.start({ agents: [version(twice)], store, work: false })
    const turn = await before.conversation('c1', { agent: 'helper' }).send('hi')
    const after = story.start({ agents: [version({ type: 'string' })], store: story.reopen(store) })
    const outcome = await after.conversation('c1').turn(turn.turnId).outcome()
    expect(outcome).toMatchObject({ status: 'failed', reason: 'schema_too_complex' })
    const next = await after.conversation('c1').send('again')
    expect(await next.outcome()).toMatchObject({ status: 'completed', object: 'aabaa' })
  })

  test('an import brings no trust along: its schema is checked within bounds, unless the code here has it', async () => {
    const source = story.openStore()
    for (const [id, output] of [
      ['own', twice],
      ['foreign', { pattern: '^(a+)\\1*c' }],
    ] as const) {
      const runtime = story.start({ agents: [version(output)], store: source, work: false })
      await runtime.conversation(id, { agent: 'helper' }).send('hi', { key: 'first' })
    }
    const store = story.openStore()
    await importText(store, await exported(source))
    const runtime = story.start({ agents: [version(twice)], store })
    expect(await runtime.conversation('own').outcome()).toMatchObject({ status: 'completed', object: 'aabaa' })
    const foreign = await runtime.conversation('foreign').outcome()
    expect(foreign).toMatchObject({ status: 'failed', reason: 'schema_too_complex' })
  })

  test('an answer for a tool that is gone is checked by the schema in the log, within bounds; one that has none still waits', async () => {
    const ask = (output: Schema) =>
      defineTool({ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human', output })
    const model = () => scriptedModel([{ calls: [{ tool: 'ask', args: {} }] }, 'Thanks.'])
    const agent = (tools: readonly ReturnType<typeof ask>[]) => defineAgent({ name: 'helper', model: model(), tools })
    const store = story.openStore()
    const before = story.start({ agents: [agent([ask({ pattern: '^(?!b)a+$' })])], store })
    const plain = await onlyPendingOf(await before.conversation('plain', { agent: 'helper' }).send('hi'))
    await before.close()
    const other = story.start({ agents: [agent([ask(twice)])], store: story.reopen(store) })
    const unbounded = await onlyPendingOf(await other.conversation('unbounded', { agent: 'helper' }).send('hi'))
    await expect(other.conversation('unbounded').answer(unbounded, 'ab')).rejects.toMatchObject({
      code: 'invalid_answer',
    })
    await other.close()

    const runtime = story.start({ agents: [agent([])], store: story.reopen(store) })
    await expect(runtime.conversation('plain').answer(plain, 'b')).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await runtime.conversation('plain').answer(plain, 'aaa')).toEqual({ accepted: true })
    const chat = runtime.conversation('unbounded')
    await expect(chat.answer(unbounded, 'aabaa')).rejects.toMatchObject({ code: 'schema_too_complex' })
    expect(await chat.outcome()).toMatchObject({ status: 'waiting' })
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
  })

  test('a schema of a tool meets arguments that would take for ever: the model reads that they could not be checked', async () => {
    const below = { type: 'array', items: { anyOf: [{ $ref: '#/$defs/n' }, { $ref: '#/$defs/n' }, { const: 1 }] } }
    const input = { type: 'object', properties: { tree: { $ref: '#/$defs/n' } }, $defs: { n: below } }
    const walk = defineTool({ name: 'walk', description: 'Walk', input, run: () => 'walked' })
    const tree = JSON.parse(`${'['.repeat(40)}0${']'.repeat(40)}`)
    const model = scriptedModel([{ calls: [{ tool: 'walk', args: { tree } }] }, 'Sorry.'])
    const runtime = story.start({ agents: [defineAgent({ name: 'helper', model, tools: [walk] })] })
    const turn = await runtime.conversation('c1', { agent: 'helper' }).send('hi')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Sorry.' })
    const refusal = expect.stringMatching(/it could not be checked: it takes more than 1,000,000 steps/)
    expect(toolResults(model, 2)).toEqual([['walk', { type: 'error-text', value: refusal }]])
  })
})
