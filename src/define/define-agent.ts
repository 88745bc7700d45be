import { DefinitionError } from '../base/errors/definition-errors.ts'
import { defaultMaxDepth } from '../log/child-call.ts'
import {
  type Agent,
  type AgentOutput,
  type AuditLevel,
  agentAttributes,
  brandAgent,
  type ContextAttributes,
  contextSettings,
  type RetrySettings,
  type Reveal,
  type TitleSettings,
} from './agent.ts'
import { agentProblems } from './agent-problems.ts'
import { createHook, type Hook, type HookAttributes } from './create-hook.ts'
import type { ChunkTransformer, LanguageModel, ModelSettings } from './language-model.ts'
import { type Schema, type SchemaOutput, toJsonSchema } from './schema.ts'
import type { Tool } from './tool.ts'
import type { Turn } from './turn.ts'

/** What `defineAgent` takes. */
export type AgentAttributes<
  Name extends string = string,
  Tools extends readonly Tool[] = readonly Tool[],
  Out extends Schema | undefined = Schema | undefined,
> = {
  readonly name: Name
  readonly model: LanguageModel
  /** Tried in order when the model cannot be reached. */
  readonly fallbackModels?: readonly LanguageModel[]
  readonly settings?: ModelSettings
  readonly instructions?: string | ((turn: Turn) => string)
  readonly tools?: Tools
  readonly hooks?: readonly (Hook | HookAttributes)[]
  readonly transformChunk?: ChunkTransformer
  /** A turn ends with an object of this schema. */
  readonly output?: Out
  /** A turn ends when a call of this tool has ended ok. */
  readonly untilTool?: Tools[number]['name']
  /** Default: 20. */
  readonly maxSteps?: number
  /** Default: any number. */
  readonly maxTokens?: number
  /** Default: 8. */
  readonly maxParallelCalls?: number
  /** Levels of child agents. Default: 4. */
  readonly maxDepth?: number
  /** Default: 2. */
  readonly maxRegenerations?: number
  /** Default: 5,000. */
  readonly hookTimeoutMs?: number
  /** Default: `live`. */
  readonly reveal?: Reveal
  /** Default: 3 attempts, from 500 ms to 8,000 ms apart. */
  readonly retry?: Partial<RetrySettings> | false
  readonly context?: ContextAttributes
  /** Default: `off`. */
  readonly audit?: AuditLevel
  /** Names each conversation once, in the background. Default: false. */
  readonly title?: boolean | { readonly model?: LanguageModel; readonly instructions?: string }
}

/**
 * An agent: a model, what it is told, and what it may do. Code, registered with `createRuntime` and known in the log by its name.
 * Throws `DefinitionError` naming everything that is wrong and what is available.
 */
export function defineAgent<
  const Name extends string,
  const Tools extends readonly Tool[] = readonly [],
  Out extends Schema | undefined = undefined,
>(attributes: AgentAttributes<Name, Tools, Out>): Agent<Name, Tools, Out extends Schema ? SchemaOutput<Out> : undefined>
export function defineAgent(attributes: AgentAttributes): Agent {
  const problems = agentProblems(attributes)
  if (problems.length > 0) throw new DefinitionError(`The agent '${String(Object(attributes).name)}'`, problems)
  const { name, model, instructions = '', tools = [], output } = attributes
  const agent = {
    name,
    model,
    fallbackModels: Object.freeze([...(attributes.fallbackModels ?? [])]),
    settings: Object.freeze({ ...attributes.settings }),
    instructions,
    tools: Object.freeze([...tools]),
    toolSet: new Map(tools.map((tool) => [tool.name, tool])),
    hooks: Object.freeze((attributes.hooks ?? []).map(createHook)),
    transformChunk: attributes.transformChunk ?? null,
    output: output ?? null,
    outputJsonSchema: output ? toJsonSchema(output) : null,
    untilTool: attributes.untilTool ?? null,
    maxSteps: attributes.maxSteps ?? 20,
    maxTokens: attributes.maxTokens ?? null,
    maxParallelCalls: attributes.maxParallelCalls ?? 8,
    maxDepth: attributes.maxDepth ?? defaultMaxDepth,
    maxRegenerations: attributes.maxRegenerations ?? 2,
    hookTimeoutMs: attributes.hookTimeoutMs ?? 5_000,
    reveal: attributes.reveal ?? 'live',
    retry: retrySettings(attributes.retry),
    context: contextSettings(attributes.context),
    audit: attributes.audit ?? 'off',
    title: titleSettings(attributes.title),
  }
  return brandAgent(agent, attributes)
}

function retrySettings(retry: AgentAttributes['retry'] = {}): RetrySettings | false {
  if (retry === false) return false
  const { maxAttempts = 3, baseMs = 500, maxMs = 8_000 } = retry
  return Object.freeze({ maxAttempts, baseMs, maxMs })
}

function titleSettings(title: AgentAttributes['title'] = false): TitleSettings | null {
  if (title === false) return null
  const { model = null, instructions = null } = title === true ? {} : title
  return Object.freeze({ model, instructions })
}

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
