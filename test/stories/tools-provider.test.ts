import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { overStores } from './over-stores.ts'
import { expectLegal } from './tool-results.ts'

type Part = LanguageModelV4StreamPart

const search = (result: unknown, isError = false): Part[] => [
  { type: 'tool-input-start', id: 'srv_1', toolName: 'web_search', providerExecuted: true },
  { type: 'tool-input-delta', id: 'srv_1', delta: '{"query":"perdure"}' },
  { type: 'tool-input-end', id: 'srv_1' },
  {
    type: 'tool-call',
    toolCallId: 'srv_1',
    toolName: 'web_search',
    input: '{"query":"perdure"}',
    providerExecuted: true,
  },
  { type: 'tool-result', toolCallId: 'srv_1', toolName: 'web_search', result: result as never, isError },
]
const words = (text: string): Part[] => [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: text },
  { type: 'text-end', id: 't' },
]
const ownCall: Part = { type: 'tool-call', toolCallId: 'own_1', toolName: 'note', input: '{"text":"found it"}' }

/** A model whose host runs the web search itself and sends the result in the stream. */
function hostedModel(streams: readonly (readonly Part[])[]): LanguageModelV4 & { calls: LanguageModelV4CallOptions[] } {
  const calls: LanguageModelV4CallOptions[] = []
  return {
    specificationVersion: 'v4',
    provider: 'hosted.responses',
    modelId: 'h1',
    supportedUrls: {},
    calls,
    doGenerate: () => Promise.reject(new Error('only streams')),
    doStream: async (options) => {
      calls.push(options)
      const parts = streams[calls.length - 1] ?? []
      const unified = parts.includes(ownCall) ? 'tool-calls' : 'stop'
      const finish: Part = {
        type: 'finish',
        finishReason: { unified, raw: unified },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
      }
      return { stream: ReadableStream.from([...parts, finish]) as never }
    },
  }
}

const webSearch = defineTool({ name: 'web_search', executor: 'provider', args: { maxUses: 2 } })

function researcher(model: LanguageModelV4) {
  const notes: string[] = []
  const note = defineTool({
    name: 'note',
    description: 'Write down',
    input: z.object({ text: z.string() }),
    run: ({ text }) => void notes.push(text),
  })
  return { agent: defineAgent({ name: 'researcher', model, tools: [webSearch, note] }), notes }
}

overStores('a tool that the host of the model runs', (story) => {
  test('is offered as the host calls it, is not run here, and its result goes back with the next prompt', async () => {
    const model = hostedModel([[...search([{ url: 'a' }]), ...words('Found.')], words('Bye.')])
    const { agent } = researcher(model)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'researcher' })
    expect(await (await chat.send('search')).outcome()).toMatchObject({ status: 'completed', text: 'Found.' })
    expect(await (await chat.send('thanks')).outcome()).toMatchObject({ status: 'completed', text: 'Bye.' })
    expect(model.calls[0]?.tools?.[0]).toEqual({
      type: 'provider',
      name: 'web_search',
      id: 'hosted.web_search',
      args: { maxUses: 2 },
    })
    const types = (await chat.events()).map((event) => event.type)
    expect(types).not.toContain('tool_call')
    const prompt = model.calls[1]!.prompt
    expectLegal(prompt)
    expect(prompt[1]).toMatchObject({
      role: 'assistant',
      content: [
        { type: 'tool-call', toolCallId: 'srv_1', input: { query: 'perdure' }, providerExecuted: true },
        { type: 'tool-result', toolCallId: 'srv_1', output: { type: 'json', value: [{ url: 'a' }] } },
        { type: 'text', text: 'Found.' },
      ],
    })
  })

  test('may be used in the same message as one of ours', async () => {
    const model = hostedModel([[...search({ hits: 1 }), ownCall], words('Noted.')])
    const { agent, notes } = researcher(model)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'researcher' })
    expect(await (await chat.send('search')).outcome()).toMatchObject({ status: 'completed', text: 'Noted.' })
    expect(notes).toEqual(['found it'])
    expectLegal(model.calls[1]!.prompt)
    expect((await chat.events()).filter((event) => event.type === 'tool_call')).toMatchObject([
      { content: { name: 'note' } },
    ])
  })

  test('that failed there is told as failed', async () => {
    const model = hostedModel([[...search({ code: 'unavailable' }, true), ...words('No luck.')], words('Bye.')])
    const { agent } = researcher(model)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'researcher' })
    expect(await (await chat.send('search')).outcome()).toMatchObject({ status: 'completed', text: 'No luck.' })
    await (await chat.send('thanks')).outcome()
    expect(model.calls[1]!.prompt[1]?.content).toContainEqual(
      expect.objectContaining({ type: 'tool-result', output: { type: 'error-json', value: { code: 'unavailable' } } }),
    )
  })

  test('that the model asks us to run is answered with whose it is', async () => {
    const misplaced: Part = { type: 'tool-call', toolCallId: 'x_1', toolName: 'web_search', input: '{}' }
    const model = hostedModel([[misplaced], words('Sorry.')])
    const { agent } = researcher(model)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'researcher' })
    expect(await (await chat.send('search')).outcome()).toMatchObject({ status: 'completed', text: 'Sorry.' })
    expectLegal(model.calls[1]!.prompt)
    expect(model.calls[1]!.prompt.at(-1)?.content).toMatchObject([
      {
        toolName: 'web_search',
        output: { type: 'error-text', value: expect.stringContaining("run by the model's provider") },
      },
    ])
  })
})
