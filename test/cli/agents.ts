import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow, type Flow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { askUser } from '../../src/extensions/index.ts'
import { type ScriptedModelCall, type Step, scriptedModel } from '../../src/testing/scripted-model.ts'
import { refund } from '../support/asking-tools.ts'

const size = defineTool({
  name: 'size',
  description: 'Ask for a size',
  executor: 'human',
  input: z.object({ question: z.string() }),
  output: z.object({ size: z.enum(['S', 'M']) }),
})

const mail = defineTool({
  name: 'mail',
  description: 'Send a letter',
  input: z.object({ to: z.string() }),
  approval: 'required',
  prompt: 'Send it?',
  describe: ({ to }) => `Send a letter to ${to}`,
  run: () => 'sent',
})

const clerk = defineAgent({ name: 'clerk', model: scriptedModel(play), tools: [refund] })

const delegate = defineTool({
  name: 'delegate',
  description: 'Have the clerk do it',
  input: z.object({ task: z.string() }),
  executor: 'agent',
  agent: clerk,
})

const support = defineAgent({
  name: 'support',
  model: scriptedModel(play),
  tools: [refund, size, mail, delegate],
  extensions: [askUser({ allowOther: true })],
  audit: 'full',
})

export const agents = [support]

export const flows = [
  defineFlow({
    name: 'greeting',
    version: 1,
    run: async (flow, input) => `${String(input)}, ${String(await flow.suspend('name?'))}`,
  }) as unknown as Flow,
]

const colour = { question: 'Which colour?', kind: 'single', options: [{ value: 'Blue' }, { value: 'Red' }] }

/** What a person asks for decides what the model does. */
function play({ prompt }: ScriptedModelCall): Step {
  const last = prompt.at(-1)
  if (last?.role === 'tool') return 'All is done.'
  const text = JSON.stringify(last?.content ?? '')
  if (text.includes('delegate')) return { calls: [{ tool: 'delegate', args: { task: 'refund' } }] }
  if (text.includes('refund'))
    return { reasoning: 'They want money.', text: 'Let me see.', calls: [{ tool: 'refund', args: { cents: 500 } }] }
  if (text.includes('colour')) return { calls: [{ tool: 'ask_user', args: colour }] }
  if (text.includes('letter')) return { calls: [{ tool: 'mail', args: { to: 'Ann' } }] }
  if (text.includes('size')) return { calls: [{ tool: 'size', args: { question: 'Which?' } }] }
  if (text.includes('slowly')) return { text: ['One', ' two', ' three', ' four'], delayMs: 150 }
  if (text.includes('at length'))
    return { text: 'Once upon a', finishReason: 'length', warnings: ['temperature is not supported'] }
  if (text.includes('evil')) return '\u001b[2J\u009b31m\u202eevil\u0007'
  return 'Hello.'
}
