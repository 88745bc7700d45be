import { sessionAgent } from '../define/define-flow.ts'
import { agentsByName } from '../runtime/agents-by-name.ts'
import type { Config } from './config.ts'

/** What a config has code for, as the store names it: also agents that only tools start. */
export function agentNames({ agents, flows = [] }: Pick<Config, 'agents' | 'flows'>): string[] {
  return [...agentsByName(agents).keys(), ...flows.map(({ name }) => sessionAgent(name))]
}
