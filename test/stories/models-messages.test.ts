import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { AssistantMsg } from '../../src/log/events.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { model as modelOf, streamOf } from '../support/unruly-model.ts'
import { isIdle, joined } from './joined.ts'
import { overStores } from './over-stores.ts'
import { linesOf } from './texts.ts'

const finish = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'end_turn' },
  usage: { inputTokens: { total: 20, cacheRead: 8, cacheWrite: 4 }, outputTokens: { total: 6, reasoning: 2 } },
}
const text = (delta: string) => ({ type: 'text-delta', id: 't', delta })

async function messagesOf(chat: Pick<Conversation, 'events'>): Promise<AssistantMsg[]> {
  return (await chat.events()).flatMap((event) => (event.type === 'assistant_msg' ? [event.content] : []))
}

for (const specificationVersion of ['v3', 'v4'] as const) {
  overStores(`what a model of specification ${specificationVersion} says`, (story) => {
    test('text and reasoning are kept with their signatures, and go back to the provider that made them', async () => {
      const model = scriptedModel([{ reasoning: 'hm', text: ['Hel', 'lo'] }, 'Bye'], { specificationVersion })
      const agent = defineAgent({ name: 'a', model, instructions: 'Be brief.' })
      const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
      expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed', text: 'Hello' })
      const [message] = await messagesOf(chat)
      expect(message).toMatchObject({
        status: 'complete',
        finishReason: 'stop',
        model: { provider: 'scripted', modelId: 'scripted-model' },
        parts: [
          { type: 'reasoning', text: 'hm', providerMetadata: { scripted: { signature: 'signature-1' } } },
          { type: 'text', text: 'Hello' },
        ],
      })
      await (await chat.send('bye')).outcome()
      expect(model.calls[1]!.prompt).toEqual([
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'hm', providerOptions: { scripted: { signature: 'signature-1' } } },
            { type: 'text', text: 'Hello' },
          ],
        },
        { role: 'user', content: [{ type: 'text', text: 'bye' }] },
      ])
    })

    test('calls are run and their results go back under the provider’s id', async () => {
      const add = defineTool({
        name: 'add',
        description: 'Add',
        input: z.object({ a: z.number(), b: z.number() }),
        run: ({ a, b }) => a + b,
      })
      const model = scriptedModel([{ calls: [{ tool: 'add', args: { a: 1, b: 2 }, id: 'toolu_1' }] }, '3'], {
        specificationVersion,
      })
      const agent = defineAgent({ name: 'a', model, tools: [add] })
      const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
      expect(await (await chat.send('1 + 2?')).outcome()).toMatchObject({ status: 'completed', text: '3' })
      expect(model.calls[0]!.options.tools).toMatchObject([{ type: 'function', name: 'add' }])
      expect(model.calls[1]!.prompt.slice(1)).toMatchObject([
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'toolu_1', input: { a: 1, b: 2 } }] },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'toolu_1', output: { type: 'json', value: 3 } }] },
      ])
    })

    test('generated files go into blobs; the log holds their refs', async () => {
      const bytes = new Uint8Array([137, 80, 78, 71, 0, 255])
      const base64 = Buffer.from(bytes).toString('base64')
      const data = specificationVersion === 'v3' ? base64 : { type: 'data', data: bytes }
      const model = modelOf(
        [() => streamOf([text('Here: '), { type: 'file', mediaType: 'image/png', data }, finish])],
        { specificationVersion },
      )
      const agent = defineAgent({ name: 'a', model })
      const runtime = story.start({ agents: [agent] })
      const chat = runtime.conversation('c1', { agent: 'a' })
      expect(await (await chat.send('draw')).outcome()).toMatchObject({ status: 'completed', text: 'Here: ' })
      const [message] = await messagesOf(chat)
      const file = message!.parts.find((part) => part.type === 'file')
      expect(file).toMatchObject({ mediaType: 'image/png', data: { size: 6, mediaType: 'image/png' } })
      if (typeof file?.data !== 'object') throw new Error('expected a ref')
      const blob = await runtime.store.getBlob(file.data)
      expect([...blob!.bytes]).toEqual([...bytes])
      expect(JSON.stringify(await chat.events())).not.toContain(base64)
      await chat.delete()
      expect(await runtime.store.getBlob(file.data)).toBeNull()
    })

    test('files of people reach it as bytes, and their text beside them', async () => {
      const model = scriptedModel('A cat.', { specificationVersion })
      const agent = defineAgent({ name: 'a', model })
      const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
      const turn = await chat.send([
        { type: 'text', text: 'What is it?' },
        { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]), filename: 'cat.png' },
        { type: 'file', mediaType: 'image/png', data: new URL('https://example.test/dog.png') },
      ])
      expect(await turn.outcome()).toMatchObject({ status: 'completed' })
      const [, file, link] = model.calls[0]!.prompt[0]!.content as unknown as { data: unknown; filename?: string }[]
      expect(file).toMatchObject({ type: 'file', mediaType: 'image/png', filename: 'cat.png' })
      const given = specificationVersion === 'v3' ? file!.data : (file!.data as { data: unknown }).data
      expect([...(given as Uint8Array)]).toEqual([1, 2, 3])
      expect(JSON.stringify(link)).toContain('https://example.test/dog.png')
      expect(JSON.stringify(await chat.events())).not.toContain('[1,2,3]')
    })

    test('sources, and tools that its host runs with their results, are part of the message', async () => {
      const search = defineTool({ name: 'search', executor: 'provider', id: 'acme.search' })
      const call = { toolCallId: 'srv_1', toolName: 'search', providerExecuted: true }
      const model = modelOf(
        [
          () =>
            streamOf([
              { type: 'tool-call', ...call, input: '{"q":"hats"}' },
              { type: 'tool-result', ...call, result: [{ title: 'Hats' }] },
              { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.test/hats', title: 'Hats' },
              text('Hats.'),
              finish,
            ]),
          () => streamOf([text('Yes.'), finish]),
        ],
        { specificationVersion },
      )
      const agent = defineAgent({ name: 'a', model, tools: [search] })
      const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
      expect(await (await chat.send('hats?')).outcome()).toMatchObject({ status: 'completed', text: 'Hats.' })
      const [message] = await messagesOf(chat)
      expect(message!.parts).toMatchObject([
        { type: 'provider_call', providerCallId: 'srv_1', name: 'search', args: { q: 'hats' } },
        { type: 'provider_result', providerCallId: 'srv_1', result: [{ title: 'Hats' }] },
        { type: 'source', source: { url: 'https://example.test/hats' } },
        { type: 'text', text: 'Hats.' },
      ])
      expect((await chat.events()).some((event) => event.type === 'tool_call')).toBe(false)
      await (await chat.send('sure?')).outcome()
      const [, assistant] = model.asked[1]!['prompt'] as { content: { type: string }[] }[]
      expect(assistant!.content.map((part) => part.type)).toEqual(['tool-call', 'tool-result', 'text'])
    })

    test('usage is kept with each message, and summed over the turn', async () => {
      const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'a hat' })
      const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{}' }
      const model = modelOf([() => streamOf([call, finish]), () => streamOf([text('A hat.'), finish])], {
        specificationVersion,
      })
      const agent = defineAgent({ name: 'a', model, tools: [look] })
      const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
      const usage = { inputTokens: 20, outputTokens: 6, cacheReadTokens: 8, cacheWriteTokens: 4, reasoningTokens: 2 }
      const outcome = await (await chat.send('?')).outcome()
      expect(outcome).toMatchObject({
        usage: { inputTokens: 40, outputTokens: 12, cacheReadTokens: 16, cacheWriteTokens: 8, reasoningTokens: 4 },
      })
      for (const message of await messagesOf(chat)) expect(message.usage).toEqual(usage)
    })

    test('the input of calls is shown while it is written', async () => {
      const look = defineTool({ name: 'look', description: 'Look', input: z.object({ at: z.string() }), run: () => 1 })
      const pieces = ['{"at"', ':"a h', 'at"}']
      const model = modelOf(
        [
          () =>
            streamOf([
              { type: 'tool-input-start', id: 'c1', toolName: 'look' },
              ...pieces.map((delta) => ({ type: 'tool-input-delta', id: 'c1', delta })),
              { type: 'tool-input-end', id: 'c1' },
              { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: pieces.join('') },
              finish,
            ]),
          () => streamOf([text('Done.'), finish]),
        ],
        { specificationVersion },
      )
      const agent = defineAgent({ name: 'a', model, tools: [look] })
      const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
      const watcher = await joined(chat)
      await chat.send('?')
      await watcher.until(isIdle)
      const deltas = watcher.events.filter((event) => event.type === 'tool_input_delta')
      expect(deltas.map(({ name, delta }) => [name, delta])).toEqual(pieces.map((delta) => ['look', delta]))
      const call = (await chat.events()).find((event) => event.type === 'tool_call')
      expect(new Set(deltas.map(({ callId }) => callId))).toEqual(new Set([call!.content.callId]))
    })
  })
}

overStores('what is asked of a model', (story) => {
  test('its settings, and instructions that may depend on the turn', async () => {
    const model = scriptedModel('fine')
    const agent = defineAgent({
      name: 'a',
      model,
      instructions: (turn) => `You talk to ${turn.scope.user ?? 'nobody'}.`,
      settings: { temperature: 0.1, maxOutputTokens: 99, providerOptions: { scripted: { effort: 'high' } } },
    })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    await (await chat.send('hi')).outcome()
    expect(linesOf(model.calls[0]!.prompt)).toEqual(['system: You talk to nobody.', 'user: hi'])
    expect(model.calls[0]!.options).toMatchObject({
      temperature: 0.1,
      maxOutputTokens: 99,
      providerOptions: { scripted: { effort: 'high' } },
    })
  })

  test('a file of a type that is none is kept all the same', async () => {
    const data = { type: 'data', data: new Uint8Array([1]) }
    const model = modelOf([() => streamOf([{ type: 'file', mediaType: 'image/\u0000', data }, text('Here.'), finish])])
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('draw')).outcome()).toMatchObject({ status: 'completed', text: 'Here.' })
    expect((await messagesOf(chat))[0]?.parts[0]).toMatchObject({ type: 'file', mediaType: 'application/octet-stream' })
  })

  test('an empty answer completes the turn with nothing, and the conversation goes on', async () => {
    const model = scriptedModel(['', 'here'])
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed', text: '' })
    expect(await (await chat.send('there?')).outcome()).toMatchObject({ status: 'completed', text: 'here' })
    expect(linesOf(model.calls[1]!.prompt)).toEqual(['user: hi', 'user: there?'])
  })
})
