import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineFlow } from '../../../src/define/define-flow.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'

export const leaseMs = 400

const input = { type: 'object', properties: {} }

/** An agent with one tool for each way of going on after an interruption, and a flow with a step. `ran` tells of every run. */
export function stoppedAgents(ran: (what: string) => void) {
  const tool = (name: 'report' | 'rerun') =>
    defineTool({ name, description: name, input, ifInterrupted: name, run: () => void ran(name) })
  const model = scriptedModel(({ prompt }) => {
    const wanted = prompt.findLast(({ role }) => role === 'user')?.content[0] as { readonly text: string }
    return prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: wanted.text, args: {} }] }
  })
  const agents = [defineAgent({ name: 'worker', model, tools: [tool('report'), tool('rerun')] })]
  const flow = defineFlow({
    name: 'one-step',
    version: 1,
    run: (verbs) => verbs.step('step', { ifInterrupted: 'report' }, async () => void ran('step')),
  })
  return { agents, flows: [flow] }
}
