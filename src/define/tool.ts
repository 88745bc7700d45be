import type { Json, JsonObject } from '../base/json.ts'
import type { Executor, IfInterrupted } from '../log/events.ts'
import type { Schema } from './schema.ts'
import type { Turn } from './turn.ts'

/**
 * A tool that a model may call. `executor` says who runs it. `Args` is the input of `run`, `Input` what the model or an
 * editor passes, `Result` what is recorded.
 */
export type Tool<
  Name extends string = string,
  Args = unknown,
  Result = unknown,
  Runs extends Executor = Executor,
  Input = unknown,
> = ToolKinds<Name, Args, Result, Input>[Runs]

/** An agent's tools by name. */
export type ToolSet = ReadonlyMap<string, Tool>

/**
 * How long results stay in prompts: for a number of turns (`age`), the newest of their tool (`count`), or `never`
 * removed.
 */
export type Retention = { readonly mode: 'age' | 'count'; readonly value: number } | 'never'

type ToolKinds<Name extends string, Args, Result, Input> = {
  /** Run by this process. */
  readonly server: CallableTool<Name, 'server', Args, Result, Input> & {
    readonly timeoutMs: number | null
    readonly ifInterrupted: IfInterrupted
    isGated(args: Args, turn: Turn): boolean | Promise<boolean>
    run(args: Args, turn: Turn): unknown
  }
  /** Answered by a person. */
  readonly human: CallableTool<Name, 'human', Args, Result, Input> &
    AnsweredTool & {
      /** The schema of the answer to a call with these arguments. Null: it is always `output`. */
      readonly outputOf: ((args: unknown) => JsonObject) | null
    }
  /** Run by a browser or device, which answers with the result. */
  readonly client: CallableTool<Name, 'client', Args, Result, Input> &
    AnsweredTool & { isGated(args: Args, turn: Turn): boolean | Promise<boolean> }
  /** Run by the model's host. Its result comes with the stream. */
  readonly provider: ToolBase<Name, 'provider', Args, Result, Input>
  /** Runs as a child conversation with another agent, whose outcome is the result. */
  readonly agent: CallableTool<Name, 'agent', Args, Result, Input> & {
    readonly agent: AgentRef
    isGated(args: Args, turn: Turn): boolean | Promise<boolean>
  }
}

/** Sent to the model along with the tool's description. */
export type ModelOptions = {
  readonly strict?: boolean
  readonly inputExamples?: readonly { readonly input: JsonObject }[]
  readonly providerOptions?: { readonly [provider: string]: JsonObject }
}

export type ProviderToolRef = {
  /** `<provider>.<tool>`. Null: the provider of the called model, and the tool's name. */
  readonly id: string | null
  readonly args: JsonObject
}

/** What a tool must know of an agent. */
export type AgentRef = { readonly name: string }

type ToolBase<Name extends string, Runs extends Executor, Args, Result, Input> = {
  readonly name: Name
  readonly description: string
  readonly executor: Runs
  /** Null: the agent's. */
  readonly retention: Retention | null
  readonly modelOptions: ModelOptions
  /** Set for tools whose schema the model's host defines. Always set for the executor `provider`. */
  readonly providerTool: ProviderToolRef | null
  /** For type inference only. Never set. */
  readonly '~types'?: { readonly args: Args; readonly result: Result; readonly input: Input }
}

type CallableTool<Name extends string, Runs extends Executor, Args, Result, Input> = ToolBase<
  Name,
  Runs,
  Args,
  Result,
  Input
> & {
  readonly input: Schema
  /** The schema of the arguments that the model sees. Always an object schema. */
  readonly inputJsonSchema: JsonObject
  /** How long a person has to answer. Null: no limit. */
  readonly expiresInMs: number | null
  /** What a person sees when the call waits for one. */
  prompt(args: Args, turn: Turn): Json | Promise<Json>
  /** False: the prompt is only the description, and what `describe` returns takes its place. */
  readonly hasPrompt: boolean
  /** Says in one line what a call will do; null where the tool does not say. */
  describe(args: Args): unknown
}

type AnsweredTool = {
  readonly output: Schema
  readonly outputJsonSchema: JsonObject
}

/** The tool's name, as a literal. */
export type ToolName<T extends Tool> = T['name']
/** The arguments of `run`: the output of the input schema. */
export type ToolArgs<T extends Tool> = NonNullable<T['~types']>['args']
/** The arguments from the model: the input of the input schema. */
export type ToolInput<T extends Tool> = NonNullable<T['~types']>['input']
/** The recorded result of a successful call. */
export type ToolResultOf<T extends Tool> = NonNullable<T['~types']>['result']

/** Whether a value was made by `defineTool` or `fromAiSdkTools`. */
export function isTool(value: unknown): value is Tool {
  if (typeof value !== 'object' || value === null) return false
  const { name, executor, providerTool } = value as Partial<Tool>
  return typeof name === 'string' && typeof executor === 'string' && providerTool !== undefined
}
