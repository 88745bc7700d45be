import type { Agent } from '../../../src/agent/agent.ts'
import { defineAgent } from '../../../src/agent/define-agent.ts'
import { scenarioModel } from './model.ts'
import type { Host, Scenario } from './scenario.ts'
import { scenarioTools } from './tools.ts'

/** The agent of a scenario, as one process has it. */
export function scenarioAgent(scenario: Scenario, host: Host): Agent {
  return defineAgent({
    name: scenario.name,
    model: scenarioModel(scenario, host),
    instructions: 'Do as you are told.',
    tools: scenarioTools(scenario, host),
    ...scenario.agent?.(host),
  })
}
