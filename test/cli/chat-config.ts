import { setTimeout as wait } from 'node:timers/promises'
import { defineConfig } from '../../src/cli/config.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

/** Clears the screen, sets the title, fills the clipboard, turns letters around, and does it again in C1. */
const evil = '\u001b[2J\u001b]0;owned\u0007\u001b]52;c;ZXZpbA==\u0007\u009b31mred\u202etxt.exe\r\b'

const nothing = { type: 'object', properties: {} } as const

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: { type: 'object', properties: { to: { type: 'string' } } },
  approval: 'required',
  prompt: `Pay ${evil}?`,
  run: (_, turn) => {
    turn.reportProgress(evil)
    throw new Error(`no funds ${evil}`)
  },
})

const locate = defineTool({
  name: 'locate',
  description: 'Where the browser is',
  input: nothing,
  executor: 'client',
  output: { type: 'object', properties: { city: { type: 'string', title: `city ${evil}` } }, required: ['city'] },
})

const deploy = defineTool({
  name: 'deploy',
  description: 'Deploy',
  input: nothing,
  ifInterrupted: 'ask',
  run: async (_, turn) => {
    turn.reportProgress('deploying')
    await wait(600_000, undefined, { signal: turn.signal })
  },
})

/** Calls the tool that is named, then tells what came of it. */
const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)
  if (last?.role === 'tool') return { text: `It says: ${JSON.stringify(last.content[0])}` }
  const said = JSON.stringify(last?.content)
  const tool = ['pay', 'locate', 'deploy'].find((name) => said.includes(name))
  if (tool) return { reasoning: `thinking ${evil}`, calls: [{ tool, args: { to: evil } }] }
  return { text: ['Good ', `morning ${evil}`, ' to you.'] }
})

const clerk = defineAgent({ name: 'clerk', model, tools: [pay, locate, deploy] })

export const config = defineConfig({ agents: [clerk], store: '.perdure/perdure.db', leaseMs: 1_000 })
