import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../define/define-agent.ts'
import { defineFlow } from '../define/define-flow.ts'
import { defineTool } from '../define/define-tool.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import { agentNames } from './load-config.ts'

test('a config has code for its agents, for those that their tools start, and for its flows', () => {
  const worker = defineAgent({ name: 'worker', model: scriptedModel('ok') })
  const delegate = defineTool({
    name: 'delegate',
    description: 'Ask another',
    input: z.object({ task: z.string() }),
    executor: 'agent',
    agent: worker,
  })
  const boss = defineAgent({ name: 'boss', model: scriptedModel('ok'), tools: [delegate] })
  const order = defineFlow({ name: 'order', version: 1, run: async () => 'done' })
  expect(agentNames({ agents: [boss], flows: [order] })).toEqual(['boss', 'worker', 'flow:order'])
})
