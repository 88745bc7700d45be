import { DefinitionError } from '../base/errors/definition-errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { encode } from '../log/codec.ts'
import type { IfInterrupted } from '../log/events.ts'
import type { Halt, ToolHalt } from './create-hook.ts'
import type { Jsonify } from './jsonify.ts'
import { maxSchemaBytes } from './normalise-result.ts'
import { isStandardSchema, type Schema, type SchemaInput, type SchemaOutput, toJsonSchema } from './schema.ts'
import type { AgentRef, ModelOptions, Retention, Tool } from './tool.ts'
import { toolProblems } from './tool-problems.ts'
import type { AskedByTool } from './tool-question.ts'
import type { Turn } from './turn.ts'

/**
 * Defines a tool. `executor` says who runs it: `server` (default) calls `run` in this process; `human` and `client`
 * wait for an answer of the schema `output`; `agent` starts a child conversation; `provider` is run by the model's
 * host. Throws `DefinitionError` with everything that is wrong, and `SchemaNotConvertibleError` for a schema that
 * cannot be sent to models.
 */
export function defineTool<const Name extends string, In extends Schema, Out extends Schema>(
  attributes: HumanAttributes<Name, In, Out>,
): Tool<Name, SchemaOutput<In>, Jsonify<SchemaOutput<Out>>, 'human', SchemaInput<In>>
export function defineTool<const Name extends string, In extends Schema, Out extends Schema>(
  attributes: ClientAttributes<Name, In, Out>,
): Tool<Name, SchemaOutput<In>, Jsonify<SchemaOutput<Out>>, 'client', SchemaInput<In>>
export function defineTool<const Name extends string, In extends Schema>(
  attributes: ProviderAttributes<Name, In>,
): Tool<Name, SchemaOutput<In>, unknown, 'provider', SchemaInput<In>>
export function defineTool<const Name extends string, In extends Schema, Child extends AgentRef>(
  attributes: AgentAttributes<Name, In, Child>,
): Tool<Name, SchemaOutput<In>, unknown, 'agent', SchemaInput<In>> & { readonly agent: Child }
export function defineTool<const Name extends string, In extends Schema, Returned>(
  attributes: ServerAttributes<Name, In, Returned>,
): Tool<Name, SchemaOutput<In>, Jsonify<ResultIn<Awaited<Returned>>>, 'server', SchemaInput<In>>
export function defineTool(attributes: ToolAttributes): Tool {
  const problems = toolProblems(attributes)
  if (problems.length > 0) throw new DefinitionError(`The tool '${String(Object(attributes).name)}'`, problems)
  return Object.freeze(toTool(attributes))
}

/** What is recorded of what `run` returned: of a halt, its result. */
type ResultIn<Returned> = unknown extends Returned
  ? Returned
  : Returned extends AskedByTool
    ? never
    : Returned extends ToolHalt<infer Result>
      ? Result
      : Returned extends Halt
        ? null
        : Returned

function toTool(attributes: ToolAttributes): Tool {
  switch (attributes.executor) {
    case 'human':
      return { ...described(attributes), ...answeredByPerson(attributes), executor: 'human' }
    case 'client':
      return { ...described(attributes), ...answered(attributes), ...gate(attributes), executor: 'client' }
    case 'provider':
      return {
        name: attributes.name,
        description: attributes.description ?? attributes.name,
        retention: attributes.retention ?? null,
        modelOptions: modelOptions(attributes),
        providerTool: { id: attributes.id ?? null, args: attributes.args ?? {} },
        executor: 'provider',
      }
    case 'agent':
      return { ...described(attributes), ...gate(attributes), agent: attributes.agent, executor: 'agent' }
    default:
      return {
        ...described(attributes),
        ...gate(attributes),
        timeoutMs: attributes.timeoutMs ?? null,
        ifInterrupted: attributes.ifInterrupted ?? 'report',
        run: attributes.run,
        executor: 'server',
      }
  }
}

function described(attributes: Exclude<ToolAttributes, ProviderAttributes>) {
  const { name, description, input, prompt = description } = attributes
  return {
    name,
    description,
    input,
    inputJsonSchema: objectSchema(name, toJsonSchema(input)),
    expiresInMs: attributes.expiresInMs ?? null,
    retention: attributes.retention ?? null,
    prompt: typeof prompt === 'function' ? prompt : () => prompt,
    hasPrompt: attributes.prompt !== undefined,
    describe: attributes.describe ?? (() => null),
    modelOptions: modelOptions(attributes),
    providerTool: null,
  }
}

function answeredByPerson({ name, output }: HumanAttributes) {
  if (typeof output !== 'function' || isStandardSchema(output)) {
    return { ...answered({ name, output: output as Schema }), outputOf: null }
  }
  return { output: {}, outputJsonSchema: {}, outputOf: (args: unknown) => recordable(name, output(args)) }
}

function answered({ name, output }: { readonly name: string; readonly output: Schema }) {
  return { output, outputJsonSchema: recordable(name, output) }
}

/** The schema as it is recorded with each call. */
function recordable(name: string, output: Schema): JsonObject {
  const outputJsonSchema = toJsonSchema(output)
  const bytes = Buffer.byteLength(encode(outputJsonSchema))
  if (bytes > maxSchemaBytes) {
    throw new DefinitionError(`The tool '${name}'`, [
      `the JSON Schema of 'output' has ${bytes} bytes; it is kept with every call, so the limit is ${maxSchemaBytes}`,
    ])
  }
  return outputJsonSchema
}

function gate({ approval = 'auto' }: Pick<ServerAttributes, 'approval'>) {
  return { isGated: typeof approval === 'function' ? approval : () => approval === 'required' }
}

function modelOptions({ strict, providerOptions }: Pick<ToolAttributes, 'strict' | 'providerOptions'>) {
  return {
    ...(strict === undefined ? {} : { strict }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  }
}

/** Providers accept only objects as arguments. */
function objectSchema(name: string, schema: JsonObject): JsonObject {
  const { type = 'object' } = schema
  if (type === 'object') return { ...schema, type }
  throw new DefinitionError(`The tool '${name}'`, [
    `'input' must describe an object, because models pass arguments by name; it describes ${JSON.stringify(type)}`,
  ])
}

/** The attributes of `defineTool`, a union by `executor`. */
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
    /** Limits one run. Default: none. */
    readonly timeoutMs?: number
    /** What to do about a run that started and has no result. Default: `report`. */
    readonly ifInterrupted?: IfInterrupted
    /** Returns the result, or `halt(reason, { result })` to end the turn. */
    run(args: SchemaOutput<In>, turn: Turn): Returned
  }

type HumanAttributes<Name extends string = string, In extends Schema = Schema, Out extends Schema = Schema> = Described<
  Name,
  In
> &
  None<'run' | 'approval' | 'agent' | 'timeoutMs' | 'ifInterrupted' | 'id' | 'args'> & {
    readonly executor: 'human'
    /** The schema of the answer, or a function from the arguments to it: then the answer is checked by the schema that is recorded with the call. */
    readonly output: Out | ((args: SchemaOutput<In>) => Out)
  }

type ClientAttributes<
  Name extends string = string,
  In extends Schema = Schema,
  Out extends Schema = Schema,
> = Described<Name, In> &
  Gateable<In> &
  None<'run' | 'agent' | 'timeoutMs' | 'ifInterrupted' | 'id' | 'args'> & {
    readonly executor: 'client'
    /** The schema of `result` in a successful answer. */
    readonly output: Out
  }

type ProviderAttributes<Name extends string = string, In extends Schema = Schema> = {
  readonly executor: 'provider'
  readonly name: Name
  /** For people. The host has its own description. */
  readonly description?: string
  readonly input?: In
  /** The provider's id of the tool: `<provider>.<tool>`. Default: the provider of the called model, and `name`. */
  readonly id?: `${string}.${string}`
  /** Settings for the host that runs the tool. */
  readonly args?: JsonObject
  readonly retention?: Retention
  readonly providerOptions?: ModelOptions['providerOptions']
} & None<
  | 'run'
  | 'output'
  | 'approval'
  | 'agent'
  | 'timeoutMs'
  | 'ifInterrupted'
  | 'expiresInMs'
  | 'prompt'
  | 'describe'
  | 'strict'
>

type AgentAttributes<
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
  /** Limits the wait for a person. Default: none. */
  readonly expiresInMs?: number
  readonly retention?: Retention
  /** What a person sees when the call waits for one. Default: what `describe` returns, else the description. */
  readonly prompt?: string | ((args: SchemaOutput<In>, turn: Turn) => Json | Promise<Json>)
  /**
   * Says in one line what the call will do, as in "Refund 50.00 EUR for order o-17". Recorded with the call and shown wherever the call waits; it is the prompt of a tool
   * without one. Must be synchronous. At most 500 characters are kept, without secrets; if it throws or returns no text, the call continues without a line.
   */
  readonly describe?: (args: SchemaOutput<In>) => string
  readonly strict?: boolean
  readonly providerOptions?: ModelOptions['providerOptions']
}

type Gateable<In extends Schema> = {
  /**
   * Whether a person must approve the call first. A function that throws, or returns anything but false, means yes.
   * Default: `auto`, no approval.
   */
  readonly approval?: 'auto' | 'required' | ((args: SchemaOutput<In>, turn: Turn) => boolean | Promise<boolean>)
}

type None<Key extends string> = { readonly [Name in Key]?: never }
