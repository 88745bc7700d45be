import { sessionAgent } from '../flow/define-flow.ts'
import type { Config } from './config.ts'

/** What a config has code for, as the store names it. */
export function agentNames({ agents, flows = [] }: Pick<Config, 'agents' | 'flows'>): string[] {
  return [...agents.map(({ name }) => name), ...flows.map(({ name }) => sessionAgent(name))]
}
