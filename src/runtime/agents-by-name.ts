import { DefinitionError } from '../base/errors/definition-errors.ts'
import type { Agent } from '../define/agent.ts'

/** The agents of a runtime, with those that their tools start. Callers may only name the former. */
export function agentsByName(agents: readonly Agent[]): Map<string, Agent> {
  const named = new Map<string, Agent>()
  const add = (agent: Agent): void => {
    const known = named.get(agent.name)
    if (known === agent) return
    if (known)
      throw new DefinitionError('The runtime', [`two agents are named '${agent.name}'; give each its own name`])
    named.set(agent.name, agent)
    // What a tool of the executor `agent` refers to was made by `defineAgent`, or the tool would have been refused.
    for (const tool of agent.tools) if (tool.executor === 'agent') add(tool.agent as Agent)
  }
  for (const agent of agents) add(agent)
  return named
}
