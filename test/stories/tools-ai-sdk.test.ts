import { jsonSchema, tool } from 'ai'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { fromAiSdkTools } from '../../src/define/from-ai-sdk-tools.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { pendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

vi.setConfig({ testTimeout: 20_000 })

overStores('tools of the AI SDK', (story) => {
  test('run in a turn as they are: executed, streamed, gated, left to the client', async () => {
    const seen: Record<string, unknown>[] = []
    const tools = fromAiSdkTools({
      add: tool({
        description: 'Add two numbers',
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: ({ a, b }, { toolCallId, abortSignal, messages }) => {
          seen.push({ toolCallId, isAborted: abortSignal?.aborted, messages })
          return a + b
        },
      }),
      count: tool({
        description: 'Count',
        inputSchema: jsonSchema<{ to: number }>({ type: 'object', properties: { to: { type: 'number' } } }),
        async *execute({ to }) {
          for (let n = 1; n <= to; n++) yield { n }
        },
      }),
      wipe: tool({
        description: 'Wipe the disk',
        inputSchema: z.object({}),
        needsApproval: true,
        execute: () => 'wiped',
      }),
      locate: tool({
        description: 'Where is the user',
        inputSchema: z.object({}),
        outputSchema: z.object({ lat: z.number() }),
      }),
    })
    const calls = [
      { tool: 'add', args: { a: 1, b: 2 } },
      { tool: 'count', args: { to: 3 } },
      { tool: 'wipe', args: {} },
      { tool: 'locate', args: {} },
    ]
    const model = scriptedModel([{ calls }, 'Done.'])
    const agent = defineAgent({ name: 'sdk', model, tools })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'sdk' })
    const turn = await chat.send('go')
    const pending = await pendingOf(turn)
    expect(pending).toMatchObject([
      { tool: 'wipe', kind: 'approval' },
      { tool: 'locate', kind: 'client_exec' },
    ])
    await chat.deny(pending[0]!, { reason: 'no way' })
    await expect(chat.answer(pending[1]!, { ok: true, result: { lat: 'north' } })).rejects.toMatchObject({
      code: 'invalid_answer',
    })
    await chat.answer(pending[1]!, { ok: true, result: { lat: 59.9 } })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(toolResults(model, 2)).toEqual([
      ['add', { type: 'json', value: 3 }],
      ['count', { type: 'json', value: { n: 3 } }],
      ['wipe', { type: 'error-text', value: 'tool call denied: no way' }],
      ['locate', { type: 'json', value: { lat: 59.9 } }],
    ])
    const callIds = (await chat.events()).flatMap((event) =>
      event.type === 'tool_call' && event.content.name === 'add' ? [event.content.callId] : [],
    )
    expect(seen).toEqual([{ toolCallId: callIds[0], isAborted: false, messages: [] }])
  })
})
