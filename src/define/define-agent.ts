import { DefinitionError } from '../base/errors/definition-errors.ts'
import { numberProblems, unknownKeys } from '../base/errors/read-options.ts'
import type { JsonObject } from '../base/json.ts'
import { errorText } from '../base/redact/redactor.ts'
import { defaultMaxDepth } from '../log/child-call.ts'
import { checkNewId } from '../store/checks.ts'
import {
  type Agent,
  type AgentOutput,
  type AgentStateOf,
  type AuditLevel,
  agentAttributes,
  brandAgent,
  type ContextAttributes,
  contextSettings,
  type RetrySettings,
  type Reveal,
  type TimeoutSettings,
  type TitleSettings,
} from './agent.ts'
import { callLimitProblems, retrySettings, timeoutSettings } from './call-limits.ts'
import { createHook, type Hook, type HookAttributes } from './create-hook.ts'
import {
  type AllTools,
  allInstructions,
  type Extension,
  type FullState,
  isExtension,
  type StateOf,
} from './define-extension.ts'
import { type AfterHook, afterHook, isAfterHook } from './define-subscriber.ts'
import {
  type ChunkTransformer,
  demandedTool,
  isLanguageModel,
  type LanguageModel,
  type ModelChooser,
  type ModelSettings,
  settingsProblems,
} from './language-model.ts'
import { isSchema, type Schema, type SchemaOutput, toJsonSchema } from './schema.ts'
import { agentState, extensionProblems, stateProblems } from './state-problems.ts'
import { isTool, type Tool } from './tool.ts'
import { retentionProblems } from './tool-problems.ts'
import { isToolSource, sourcePrefix, sourceProblems, type ToolSource } from './tool-source.ts'
import type { Turn } from './turn.ts'

/** The attributes of `defineAgent`. */
export type AgentAttributes<
  Name extends string = string,
  Tools extends readonly Tool[] = readonly Tool[],
  Out extends Schema | undefined = Schema | undefined,
  State extends Schema | undefined = Schema | undefined,
  Extensions extends readonly Extension[] = readonly Extension[],
> = {
  readonly name: Name
  /** A model, or a function that chooses one before each model call. It gets the turn without its context. */
  readonly model: LanguageModel | ModelChooser
  /** Tried in order when the model cannot be reached, or its streams break off. */
  readonly fallbackModels?: readonly LanguageModel[]
  readonly settings?: ModelSettings
  readonly instructions?: string | ((turn: Turn<FullState<State, Extensions>>) => string)
  readonly tools?: Tools
  /** Tools of other servers: see `mcpTools` of `perdure/mcp`. Default: none. */
  readonly toolSources?: readonly ToolSource[]
  readonly hooks?: readonly (Hook | HookAttributes | AfterHook)[]
  readonly transformChunk?: ChunkTransformer
  /** Each turn ends with an object of this schema. */
  readonly output?: Out
  /** A turn ends when a call of this tool has succeeded. */
  readonly untilTool?: AllTools<Tools, Extensions>[number]['name'] | `${string}__${string}`
  /** Default: 20. */
  readonly maxSteps?: number
  /** Default: no limit. */
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
  /** Default: 4 minutes for the first chunk, 4 minutes between two, 30 minutes in all. */
  readonly timeouts?: Partial<TimeoutSettings>
  /** `turns`: how many of its turns run at once, over all nodes and tenants; others wait. Default: no limit. */
  readonly limits?: { readonly turns?: number }
  /**
   * The account at the provider that its model calls are billed to: a name of yours. Agents with one name share its budget, and a provider that asks for a pause
   * pauses all of them. See `limits` of `createRuntime`. Default: none.
   */
  readonly account?: string
  readonly context?: ContextAttributes
  /** Default: `off`. */
  readonly audit?: AuditLevel
  /** Generates a title for each conversation, once and in the background. Default: false. */
  readonly title?: boolean | { readonly model?: LanguageModel; readonly instructions?: string }
  /** The schema of the state of its conversations, an object of at most 64 KiB. Default: they have no state. */
  readonly state?: State
  /** The state of a conversation before it was set. Default: `{}`. */
  readonly initialState?: StateOf<State>
  /** The top-level keys of the state that views show. Default: none. */
  readonly expose?: readonly (keyof StateOf<State> & string)[]
  /**
   * Converts a state that does not match the schema, as after a deploy. Must be pure: it runs on each read, until the
   * state is next set. Default: such a state fails the turn with `state_invalid`.
   */
  readonly migrateState?: (state: JsonObject) => unknown
  /** Each adds its instructions, tools, hooks and state. */
  readonly extensions?: Extensions
}

/**
 * Defines an agent: a model, its instructions and its tools. Register it with `createRuntime`; the log identifies it by
 * its name. Throws `DefinitionError` with everything that is wrong and what is available.
 */
export function defineAgent<
  const Name extends string,
  const Tools extends readonly Tool[] = readonly [],
  Out extends Schema | undefined = undefined,
  State extends Schema | undefined = undefined,
  const Extensions extends readonly Extension[] = readonly [],
>(
  attributes: AgentAttributes<Name, Tools, Out, State, Extensions>,
): Agent<
  Name,
  AllTools<Tools, Extensions>,
  Out extends Schema ? SchemaOutput<Out> : undefined,
  FullState<State, Extensions>,
  Extensions
>
export function defineAgent(attributes: AgentAttributes): Agent {
  const problems = agentProblems(attributes)
  if (problems.length > 0) throw new DefinitionError(`The agent '${String(Object(attributes).name)}'`, problems)
  const { name, model, output, extensions = [] } = attributes
  const tools = [...(attributes.tools ?? []), ...extensions.flatMap((extension) => extension.tools)]
  const given = attributes.hooks ?? []
  const own = given.filter((hook): hook is Hook | HookAttributes => !isAfterHook(hook)).map(createHook)
  const hooks = [...own, ...extensions.flatMap((extension) => extension.hooks)]
  const agent = {
    name,
    model,
    fallbackModels: Object.freeze([...(attributes.fallbackModels ?? [])]),
    settings: Object.freeze({ ...attributes.settings }),
    instructions: allInstructions(attributes.instructions as Extension['instructions'], extensions),
    tools: Object.freeze(tools),
    toolSet: new Map(tools.map((tool) => [tool.name, tool])),
    toolSources: Object.freeze([...(attributes.toolSources ?? [])]),
    hooks: Object.freeze(hooks),
    afterHooks: Object.freeze(given.filter(isAfterHook)),
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
    timeouts: timeoutSettings(attributes.timeouts),
    limits: Object.freeze({ turns: attributes.limits?.turns ?? null }),
    account: attributes.account ?? null,
    context: contextSettings(attributes.context),
    audit: attributes.audit ?? 'off',
    title: titleSettings(attributes.title),
    state: agentState(attributes, extensions),
  }
  return brandAgent(agent, attributes)
}

function titleSettings(title: AgentAttributes['title'] = false): TitleSettings | null {
  if (title === false) return null
  const { model = null, instructions = null } = title === true ? {} : title
  return Object.freeze({ model, instructions })
}

/** Overrides replace the agent's attributes entirely. All other attributes stay. */
export type AgentOverrides<
  Name extends string = string,
  Tools extends readonly Tool[] = readonly Tool[],
  Out extends Schema | undefined = Schema | undefined,
  State extends Schema | undefined = Schema | undefined,
  Extensions extends readonly Extension[] = readonly Extension[],
> = { readonly name: Name } & Partial<Omit<AgentAttributes<Name, Tools, Out, State, Extensions>, 'name'>>

/**
 * Derives another agent under its own name: for forks that continue with another model, other instructions, tools or
 * hooks. Throws `DefinitionError` like `defineAgent`.
 */
export function deriveAgent<
  A extends Agent,
  const Name extends string,
  const Tools extends readonly Tool[] = A['tools'],
  Out extends Schema | undefined = undefined,
  State extends Schema | undefined = undefined,
  const Extensions extends readonly Extension[] = AgentExtensions<A>,
>(
  agent: A,
  overrides: AgentOverrides<Name, Tools, Out, State, Extensions>,
): Agent<
  Name,
  AllTools<Tools, Extensions>,
  Out extends Schema ? SchemaOutput<Out> : AgentOutput<A>,
  State extends Schema ? FullState<State, Extensions> : AgentStateOf<A>,
  Extensions
>
export function deriveAgent(agent: Agent, overrides: AgentOverrides): Agent {
  return defineAgent({ ...(agentAttributes(agent) as AgentAttributes), ...overrides })
}

type AgentExtensions<A extends Agent> = NonNullable<A['~types']>['extensions']

type Given = { readonly [key: string]: unknown }

/**
 * Lists everything that is wrong with an agent's attributes. The types catch most of it, but not every caller uses
 * types.
 */
export function agentProblems(attributes: unknown): string[] {
  if (typeof attributes !== 'object' || attributes === null) return ['it must be an object']
  const agent = attributes as Given
  const extensions = Array.isArray(agent['extensions']) ? agent['extensions'].filter(isExtension) : []
  return [
    ...unknownKeys(agent, agentKeys),
    ...basicProblems(agent),
    ...modelProblems(agent),
    ...toolProblems(agent, extensions),
    ...hookProblems(agent),
    ...extensionProblems(agent, extensions),
    ...stateProblems(agent, extensions),
    ...numberProblems(agent, agentNumbers),
    ...callLimitProblems(agent),
    ...contextProblems(agent),
  ]
}

const agentKeys = [
  'name',
  'model',
  'fallbackModels',
  'settings',
  'instructions',
  'tools',
  'toolSources',
  'hooks',
  'transformChunk',
  'output',
  'untilTool',
  'maxSteps',
  'maxTokens',
  'maxParallelCalls',
  'maxDepth',
  'maxRegenerations',
  'hookTimeoutMs',
  'reveal',
  'retry',
  'timeouts',
  'limits',
  'account',
  'context',
  'audit',
  'title',
  'state',
  'initialState',
  'expose',
  'migrateState',
  'extensions',
]

/** The minimum of each. */
const agentNumbers = {
  maxSteps: 1,
  maxTokens: 1,
  maxParallelCalls: 1,
  maxDepth: 0,
  maxRegenerations: 0,
  hookTimeoutMs: 1,
}
const contextNumbers = { workingBudget: 1, ceiling: 1, injectionReserve: 0, windowTurns: 1 }

function basicProblems(given: Given): string[] {
  const { name, instructions = '', transformChunk, output, audit = 'off', reveal = 'live' } = given
  const problems: string[] = []
  try {
    checkNewId('name', name)
  } catch (error) {
    problems.push(errorText(error))
  }
  if (typeof instructions !== 'string' && typeof instructions !== 'function') {
    problems.push("'instructions' must be a string or a function of the turn")
  }
  if (transformChunk !== undefined && typeof transformChunk !== 'function') {
    problems.push("'transformChunk' must be a function of a chunk")
  }
  if (output !== undefined && !isSchema(output)) problems.push("'output' must be a Standard Schema or a JSON Schema")
  if (!['off', 'records', 'full'].includes(audit as string)) {
    problems.push(`'audit' must be one of off, records, full, not ${String(audit)}`)
  }
  if (!['live', 'judged'].includes(reveal as string)) {
    problems.push(`'reveal' must be one of live, judged, not ${String(reveal)}`)
  }
  return problems
}

function modelProblems({ model, fallbackModels = [], settings = {}, title }: Given): string[] {
  const problems = settingsProblems(settings).map((problem) => `'settings': ${problem}`)
  if (typeof model !== 'function' && !isLanguageModel(model)) {
    problems.push(`'model' ${notAModel}; or a function of the turn that returns one`)
  }
  if (!Array.isArray(fallbackModels)) problems.push("'fallbackModels' must be a list")
  else if (!fallbackModels.every(isLanguageModel)) problems.push(`each of 'fallbackModels' ${notAModel}`)
  if (title === undefined || typeof title === 'boolean') return problems
  problems.push(...unknownKeys(title, ['model', 'instructions']).map((problem) => `'title': ${problem}`))
  const { model: titleModel } = Object(title) as Given
  if (titleModel !== undefined && !isLanguageModel(titleModel)) problems.push(`'title.model' ${notAModel}`)
  return problems
}

const notAModel = "must be an AI SDK language model of specification v3 or v4, as in anthropic('...'), not its name"

function toolProblems(given: Given, extensions: readonly Extension[]): string[] {
  const { tools = [], toolSources, untilTool, settings } = given
  if (!Array.isArray(tools)) return ["'tools' must be a list; for AI SDK tools use fromAiSdkTools(...)"]
  const problems = tools.flatMap((tool, index) =>
    isTool(tool) ? [] : [`tools[${index}] was not made by defineTool or fromAiSdkTools`],
  )
  const own = tools.filter(isTool).map((tool) => tool.name)
  const all = [...tools.filter(isTool), ...extensions.flatMap((extension) => extension.tools)]
  problems.push(...sourceProblems(toolSources, all))
  const names = all.map((tool) => tool.name)
  const sources = Array.isArray(toolSources) ? toolSources.filter(isToolSource) : []
  const mayHave = (name: unknown) =>
    names.includes(name as string) || sources.some((source) => String(name).startsWith(sourcePrefix(source)))
  const available = names.length > 0 ? `available: ${names.join(', ')}` : 'it has no tools'
  for (const name of repeated(own)) problems.push(`there are several tools named '${name}'`)
  if (untilTool !== undefined && !mayHave(untilTool)) {
    problems.push(`'untilTool' names no tool of this agent: ${String(untilTool)} (${available})`)
  }
  const toolName = demandedTool(settings)
  if (toolName !== undefined && !mayHave(toolName)) {
    problems.push(`'settings.toolChoice' names no tool of this agent: ${String(toolName)} (${available})`)
  }
  return problems
}

function hookProblems({ hooks = [] }: Given): string[] {
  if (!Array.isArray(hooks)) return ["'hooks' must be a list"]
  const problems = hooks.flatMap((hook: HookAttributes | AfterHook, index) => {
    try {
      if (isAfterHook(hook)) afterHook(hook.name, hook.run, hook.options)
      else createHook(hook)
      return []
    } catch (error) {
      return DefinitionError.isInstance(error)
        ? [`hooks[${index}]: ${error.message}`]
        : [`hooks[${index}] is not a hook`]
    }
  })
  // The log identifies a durable hook by its name.
  const names = hooks.map((hook) => String(Object(hook).name))
  for (const name of repeated(names)) problems.push(`there are several hooks named '${name}'`)
  return problems
}

function contextProblems({ context = {} }: Given): string[] {
  const problems = unknownKeys(context, [...Object.keys(contextNumbers), 'retention', 'summarise', 'tokenizer'])
  const given = Object(context) as Given
  problems.push(...numberProblems(given, contextNumbers))
  const { retention, summarise, tokenizer } = given
  if (retention !== undefined) problems.push(...retentionProblems('retention', retention))
  if (tokenizer !== undefined && typeof tokenizer !== 'function')
    problems.push("'tokenizer' must be a function of text")
  if (summarise !== undefined && summarise !== false) {
    problems.push(...unknownKeys(summarise, ['model', 'instructions']))
    const { model } = Object(summarise) as Given
    if (model !== undefined && !isLanguageModel(model)) problems.push(`'summarise.model' ${notAModel}`)
  }
  return problems.map((problem) => `'context': ${problem}`)
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}
