import type { Json, JsonObject } from '../base/json.ts'
import type { Executor, IfInterrupted } from '../log/events.ts'
import type { Schema } from './schema.ts'
import type { Turn } from './turn.ts'

/**
 * Something a model may call, told apart by `executor`. `Args` is what `run` gets, `Input` what the model or an editor passes, `Result` what
 * is recorded.
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

/** How long results stay in what the model sees: for so many turns (`age`), the newest so many (`count`), or always. */
export type Retention = { readonly mode: 'age' | 'count'; readonly value: number } | 'never'

type ToolKinds<Name extends string, Args, Result, Input> = {
  /** Run by us. */
  readonly server: CallableTool<Name, 'server', Args, Result, Input> & {
    readonly timeoutMs: number | null
    readonly ifInterrupted: IfInterrupted
    isGated(args: Args, turn: Turn): boolean | Promise<boolean>
    run(args: Args, turn: Turn): unknown
  }
  /** Answered by a person. */
  readonly human: CallableTool<Name, 'human', Args, Result, Input> & AnsweredTool
  /** Run by a browser or device, which answers with the result. */
  readonly client: CallableTool<Name, 'client', Args, Result, Input> &
    AnsweredTool & { isGated(args: Args, turn: Turn): boolean | Promise<boolean> }
  /** Run by the model's host; its result comes in the stream. */
  readonly provider: ToolBase<Name, 'provider', Args, Result, Input>
  /** A child conversation with another agent; its end is the result. */
  readonly agent: CallableTool<Name, 'agent', Args, Result, Input> & {
    readonly agent: AgentRef
    isGated(args: Args, turn: Turn): boolean | Promise<boolean>
  }
}

/** Passed to the model beside the tool's description. */
export type ModelOptions = {
  readonly strict?: boolean
  readonly inputExamples?: readonly { readonly input: JsonObject }[]
  readonly providerOptions?: { readonly [provider: string]: JsonObject }
}

export type ProviderToolRef = {
  /** `<provider>.<tool>`; null: the provider of the model that is called, and the tool's name. */
  readonly id: string | null
  readonly args: JsonObject
}

/** An agent, as far as a tool has to know it. */
export type AgentRef = { readonly name: string }

type ToolBase<Name extends string, Runs extends Executor, Args, Result, Input> = {
  readonly name: Name
  readonly description: string
  readonly executor: Runs
  /** Null: the agent's. */
  readonly retention: Retention | null
  readonly modelOptions: ModelOptions
  /** Set for tools whose shape the model's host defines: always for the executor `provider`. */
  readonly providerTool: ProviderToolRef | null
  /** Only for inference; never there. */
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
  /** What the model is told about the arguments. Always an object schema. */
  readonly inputJsonSchema: JsonObject
  /** How long a person has to answer; null: as long as it takes. */
  readonly expiresInMs: number | null
  /** What a person is shown when the call waits for one. */
  prompt(args: Args, turn: Turn): Json | Promise<Json>
}

type AnsweredTool = {
  readonly output: Schema
  readonly outputJsonSchema: JsonObject
}

/** The tool's name, as a literal. */
export type ToolName<T extends Tool> = T['name']
/** What `run` is given: the output of the input schema. */
export type ToolArgs<T extends Tool> = NonNullable<T['~types']>['args']
/** What the model gives: the input of the input schema. */
export type ToolInput<T extends Tool> = NonNullable<T['~types']>['input']
/** What is recorded of a call that ended ok. */
export type ToolResultOf<T extends Tool> = NonNullable<T['~types']>['result']

/** Made by `defineTool` or `fromAiSdkTools`; what is passed to them is not a tool yet. */
export function isTool(value: unknown): value is Tool {
  if (typeof value !== 'object' || value === null) return false
  const { name, executor, providerTool } = value as Partial<Tool>
  return typeof name === 'string' && typeof executor === 'string' && providerTool !== undefined
}
