import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { anyConversation } from '../../../test/log/any-events.ts'
import { systemClock } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { defineAgent } from '../../define/define-agent.ts'
import { defineTool } from '../../define/define-tool.ts'
import type { Schema } from '../../define/schema.ts'
import { FlowRegistry } from '../../engine/flow/flow-registry.ts'
import type { NewEvent, ToolCallContent } from '../../log/events.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import {
  assistantMsg,
  cancelRequested,
  resolution,
  suspension,
  toolCall,
  toolStarted,
  userMsg,
} from '../../testing/conformance/event-builders.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import { checkConversation } from './check-conversation.ts'

const numbers: Schema = z.object({ cents: z.number() })

/** What is found of a log, by a tool that takes numbers, or this. */
async function found(events: readonly NewEvent[], input = numbers, onRefused?: () => void): Promise<string[]> {
  const tools = [defineTool({ name: 'refund', description: 'Refund', input: input as z.ZodType, run: () => 0 })]
  const agent = defineAgent({ name: 'till', model: scriptedModel([]), tools, hookTimeoutMs: 20 })
  const agents = new Map([['till', agent]])
  const code = { agents, addressable: agents, flows: new FlowRegistry([]), clock: systemClock, redact: String }
  const store = memoryStore()
  for (const event of events) await store.appendEvent('c1', event).catch(onRefused)
  const findings = await checkConversation(code, store, { id: 'c1', agent: 'till' }, false)
  await store.close()
  return findings.map(({ kind, message }) => `${kind}: ${message}`)
}

const called = (content: Partial<ToolCallContent>): NewEvent[] => [
  userMsg(),
  assistantMsg([{ type: 'call', callId: 'k' }]),
  toolCall('k', content),
]

const old: JsonObject = { cents: 'a hundred' }

test('arguments are those that a person edited, where one has', async () => {
  const edited = (after: JsonObject) => resolution('k', { edited: { before: old, after } })
  expect(await found([...called({ args: old }), suspension('k'), edited({ cents: 100 })])).toEqual([])
  const wrong = await found([...called({ args: { cents: 1 } }), suspension('k'), edited({ cents: 'many' })])
  expect(wrong).toEqual([expect.stringMatching(/^arguments_invalid: .*cents/)])
})

test.each([
  ['rerun', ['arguments_invalid']],
  ['ask', ['arguments_invalid']],
  ['report', []],
] as const)('a call that was started counts where it may run again: %s', async (ifInterrupted, kinds) => {
  const findings = await found([...called({ args: old, gated: false, ifInterrupted }), toolStarted('k')])
  expect(findings.map((line) => line.split(':')[0])).toEqual(kinds)
})

test('a turn that is being cancelled needs no tools', async () => {
  expect(await found([...called({ args: old }), suspension('k'), cancelRequested()])).toEqual([])
})

test('a schema that never answers is given up, and told of', async () => {
  const validate = () => new Promise<never>(() => {})
  const schema = {
    '~standard': { version: 1, vendor: 'slow', validate, jsonSchema: { input: () => ({ type: 'object' }) } },
  }
  const findings = await found([...called({}), suspension('k')], schema as unknown as Schema)
  expect(findings).toEqual([expect.stringContaining('not checked within 20 ms')])
})

test('arguments of any length are read whole', async () => {
  const args = { cents: 1, note: 'x'.repeat(900_000), last: 'y' }
  const text = 'z'.repeat(900_000)
  const filler = Array.from({ length: 12 }, (_, n) =>
    assistantMsg([{ type: 'text', text }], { messageId: `m${n}` } as never),
  )
  const calls = ['k', 'l'].flatMap((id) => [toolCall(id, { args }), suspension(id)])
  const said = assistantMsg(['k', 'l'].map((callId) => ({ type: 'call', callId })))
  const strict = z.object({ cents: z.number(), note: z.string().length(900_000), last: z.literal('y') })
  expect(await found([userMsg(), said, ...calls, ...filler], strict)).toEqual([])
})

test('any well-formed events are checked, and none stop the page', async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(anyConversation, async (events) => {
      for (const line of await found(events, numbers, () => {})) seen.add(line.split(':')[0]!)
    }),
    { numRuns: 300, seed: 1 },
  )
  expect([...seen].sort()).toEqual(['arguments_invalid', 'tool_missing'])
})
