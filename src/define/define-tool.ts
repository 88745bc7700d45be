import { DefinitionError } from '../base/errors/definition-errors.ts'
import type { JsonObject } from '../base/json.ts'
import { encode } from '../log/codec.ts'
import { maxSchemaBytes } from './call-limits.ts'
import type { Jsonify } from './jsonify.ts'
import type { Schema, SchemaInput, SchemaOutput } from './schema.ts'
import { toJsonSchema } from './to-json-schema.ts'
import type { AgentRef, Tool } from './tool.ts'
import type {
  AgentAttributes,
  ClientAttributes,
  HumanAttributes,
  ProviderAttributes,
  ServerAttributes,
  ToolAttributes,
} from './tool-attributes.ts'
import { toolProblems } from './tool-problems.ts'

/**
 * Something a model may call, by `executor`: `server` (default) runs `run` here; `human` and `client` wait for an answer of the schema
 * `output`; `agent` hands it to another agent; `provider` is run by the model's host. Throws `DefinitionError` naming everything that is
 * wrong, and `SchemaNotConvertibleError` for a schema that models cannot be told.
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
): Tool<Name, SchemaOutput<In>, Jsonify<Awaited<Returned>>, 'server', SchemaInput<In>>
export function defineTool(attributes: ToolAttributes): Tool {
  const problems = toolProblems(attributes)
  if (problems.length > 0) throw new DefinitionError(`The tool '${String(Object(attributes).name)}'`, problems)
  return Object.freeze(toTool(attributes))
}

function toTool(attributes: ToolAttributes): Tool {
  switch (attributes.executor) {
    case 'human':
      return { ...described(attributes), ...answered(attributes), executor: 'human' }
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
    modelOptions: modelOptions(attributes),
    providerTool: null,
  }
}

function answered({ name, output }: HumanAttributes | ClientAttributes) {
  const outputJsonSchema = toJsonSchema(output)
  const bytes = Buffer.byteLength(encode(outputJsonSchema))
  if (bytes > maxSchemaBytes) {
    throw new DefinitionError(`The tool '${name}'`, [
      `the JSON Schema of 'output' has ${bytes} bytes; it is kept with every call, so the limit is ${maxSchemaBytes}`,
    ])
  }
  return { output, outputJsonSchema }
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

/** Providers take nothing but objects as arguments. */
function objectSchema(name: string, schema: JsonObject): JsonObject {
  const { type = 'object' } = schema
  if (type === 'object') return { ...schema, type }
  throw new DefinitionError(`The tool '${name}'`, [
    `'input' must describe an object, because models pass arguments by name; it describes ${JSON.stringify(type)}`,
  ])
}
