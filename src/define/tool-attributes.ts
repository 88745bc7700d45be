import type { Json, JsonObject } from '../base/json.ts'
import type { IfInterrupted } from '../log/events.ts'
import type { Schema, SchemaOutput } from './schema.ts'
import type { AgentRef, ModelOptions, Retention } from './tool.ts'
import type { Turn } from './turn.ts'

/** What `defineTool` takes, a union by `executor`. */
export type ToolAttributes =
  | ServerAttributes
  | HumanAttributes
  | ClientAttributes
  | ProviderAttributes
  | AgentAttributes

export type ServerAttributes<Name extends string = string, In extends Schema = Schema, Returned = unknown> = Described<
  Name,
  In
> &
  Gateable<In> &
  None<'output' | 'agent' | 'id' | 'args'> & {
    readonly executor?: 'server'
    /** Bounds one run. Default: none. */
    readonly timeoutMs?: number
    /** What to do about a run that was started and has no result. Default: `report`. */
    readonly ifInterrupted?: IfInterrupted
    run(args: SchemaOutput<In>, turn: Turn): Returned
  }

export type HumanAttributes<
  Name extends string = string,
  In extends Schema = Schema,
  Out extends Schema = Schema,
> = Described<Name, In> &
  None<'run' | 'approval' | 'agent' | 'timeoutMs' | 'ifInterrupted' | 'id' | 'args'> & {
    readonly executor: 'human'
    /** The answer. */
    readonly output: Out
  }

export type ClientAttributes<
  Name extends string = string,
  In extends Schema = Schema,
  Out extends Schema = Schema,
> = Described<Name, In> &
  Gateable<In> &
  None<'run' | 'agent' | 'timeoutMs' | 'ifInterrupted' | 'id' | 'args'> & {
    readonly executor: 'client'
    /** The `result` of an answer that is ok. */
    readonly output: Out
  }

export type ProviderAttributes<Name extends string = string, In extends Schema = Schema> = {
  readonly executor: 'provider'
  readonly name: Name
  /** For people; the host has its own. */
  readonly description?: string
  readonly input?: In
  /** As the provider calls it: `<provider>.<tool>`. Default: the provider of the model that is called, and `name`. */
  readonly id?: `${string}.${string}`
  /** How the host should run it. */
  readonly args?: JsonObject
  readonly retention?: Retention
  readonly providerOptions?: ModelOptions['providerOptions']
} & None<'run' | 'output' | 'approval' | 'agent' | 'timeoutMs' | 'ifInterrupted' | 'expiresInMs' | 'prompt' | 'strict'>

export type AgentAttributes<
  Name extends string = string,
  In extends Schema = Schema,
  Child extends AgentRef = AgentRef,
> = Described<Name, In> &
  Gateable<In> &
  None<'run' | 'output' | 'timeoutMs' | 'ifInterrupted' | 'id' | 'args'> & {
    readonly executor: 'agent'
    readonly agent: Child
  }

type Described<Name extends string, In extends Schema> = {
  readonly name: Name
  readonly description: string
  readonly input: In
  /** Bounds the wait for a person. Default: none. */
  readonly expiresInMs?: number
  readonly retention?: Retention
  /** What a person is shown when the call waits for one. Default: the description. */
  readonly prompt?: string | ((args: SchemaOutput<In>, turn: Turn) => Json | Promise<Json>)
  readonly strict?: boolean
  readonly providerOptions?: ModelOptions['providerOptions']
}

type Gateable<In extends Schema> = {
  /** Whether a person has to agree first. A function that throws, or does not return false, means yes. Default: `auto`, never. */
  readonly approval?: 'auto' | 'required' | ((args: SchemaOutput<In>, turn: Turn) => boolean | Promise<boolean>)
}

type None<Key extends string> = { readonly [Name in Key]?: never }
