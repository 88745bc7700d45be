import { setTimeout as sleep } from 'node:timers/promises'
import { preHook } from '../../../src/define/create-hook.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'

const toolMs = 100

/** An agent whose conversations work a little, and one whose conversations end the process that takes them up. */
export function poisonAgents(end: () => void) {
  const work = defineTool({
    name: 'work',
    description: 'Works a little',
    input: { type: 'object', properties: {} },
    run: async () => {
      await sleep(toolMs)
      return 'done'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'work', args: {} }] },
  )
  return [
    defineAgent({ name: 'innocent', model, tools: [work] }),
    defineAgent({ name: 'poison', model, hooks: [preHook('end', () => end())] }),
  ]
}
