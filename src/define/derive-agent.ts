import type { Agent, AgentOutput } from './agent.ts'
import { type AgentAttributes, defineAgent } from './define-agent.ts'
import { agentAttributes } from './is-agent.ts'
import type { Schema, SchemaOutput } from './schema.ts'
import type { Tool } from './tool.ts'

/** What is given replaces what the agent was defined with, whole; the rest stays. */
export type AgentOverrides<
  Name extends string = string,
  Tools extends readonly Tool[] = readonly Tool[],
  Out extends Schema | undefined = Schema | undefined,
> = { readonly name: Name } & Partial<Omit<AgentAttributes<Name, Tools, Out>, 'name'>>

/**
 * Another agent under a name of its own, made of this one: for forks that go on with another model, other instructions, tools or hooks.
 * Throws `DefinitionError` like `defineAgent`.
 */
export function deriveAgent<
  A extends Agent,
  const Name extends string,
  const Tools extends readonly Tool[] = A['tools'],
  Out extends Schema | undefined = undefined,
>(
  agent: A,
  overrides: AgentOverrides<Name, Tools, Out>,
): Agent<Name, Tools, Out extends Schema ? SchemaOutput<Out> : AgentOutput<A>>
export function deriveAgent(agent: Agent, overrides: AgentOverrides): Agent {
  return defineAgent({ ...(agentAttributes(agent) as AgentAttributes), ...overrides })
}
