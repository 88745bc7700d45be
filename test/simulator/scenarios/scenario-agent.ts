import type { Agent } from '../../../src/define/agent.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import type { Tool } from '../../../src/define/tool.ts'
import { scenarioModel } from './model.ts'
import type { Host, Scenario } from './scenario.ts'
import { idOfChild, input, scenarioTools } from './tools.ts'

const instructions = 'Do as you are told.'

/** The agent of a scenario, as one process has it. */
export function scenarioAgent(scenario: Scenario, host: Host): Agent {
  const { name, hasHelper } = scenario
  const model = scenarioModel(scenario, host)
  const tools = scenarioTools(scenario, host)
  const helpers = scenarioTools(scenario, host, idOfChild)
  const helper = defineAgent({ name: `${name}-helper`, model, instructions, tools: helpers })
  const delegates = hasHelper ? [delegate(helper)] : []
  return defineAgent({ name, model, instructions, tools: [...tools, ...delegates], ...scenario.agent?.(host) })
}

function delegate(agent: Agent): Tool {
  return defineTool({ name: 'delegate', description: 'delegate', input, executor: 'agent', agent })
}
