import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../define/define-agent.ts'
import { defineTool } from '../../define/define-tool.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import { createRuntime } from '../create-runtime.ts'

const approved = (name: string, input: z.ZodObject) =>
  defineTool({ name, description: name, input, approval: 'required', run: () => null })
const wide = z.object(
  Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`member${n}`, z.string().optional()])),
)
const ask = defineTool({ name: 'ask', description: 'ask', executor: 'human', input: z.object({}), output: z.string() })

test('an approval in the inbox has the schema of its arguments where this process has the tool', async () => {
  const store = memoryStore()
  const agent = (tools: Parameters<typeof defineAgent>[0]['tools']) => {
    const calls = ['refund', 'wide', 'ask'].map((tool) => ({ tool, args: tool === 'refund' ? { cents: 5 } : {} }))
    return defineAgent({ name: 'support', model: scriptedModel([{ calls }]), tools: tools! })
  }
  const runtime = createRuntime({
    agents: [agent([approved('refund', z.object({ cents: z.number().int() })), approved('wide', wide), ask])],
    store,
  })
  const turn = await runtime.conversation('t-1', { agent: 'support' }).send('hi')
  await turn.outcome()
  const schemas = async (of: typeof runtime) =>
    Object.fromEntries((await of.inbox()).map((item) => [item.tool, 'argsSchema' in item ? item.argsSchema : 'none']))
  expect(await schemas(runtime)).toEqual({
    refund: expect.objectContaining({ properties: { cents: expect.objectContaining({ type: 'integer' }) } }),
    wide: 'none',
    ask: 'none',
  })
  await runtime.close()
  const other = createRuntime({ agents: [agent([ask])], store, work: false })
  expect(await schemas(other)).toEqual({ refund: 'none', wide: 'none', ask: 'none' })
  await other.close()
})
