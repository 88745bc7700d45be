import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import type { JsonObject } from '../base/json.ts'
import { errorText } from '../base/redact/redactor.ts'
import { defineTool, type ServerAttributes } from './define-tool.ts'
import type { Jsonify } from './jsonify.ts'
import { isSchema, isStandardSchema, type Schema } from './schema.ts'
import type { ModelOptions, Tool } from './tool.ts'
import type { Turn } from './turn.ts'

/** A tool made with `tool()` of the AI SDK. */
export type AiSdkTool = object

/**
 * Converts tools of the AI SDK. Tools without `execute` are run by the client, and provider-executed ones by the
 * provider. `execute` gets `toolCallId` (Perdure's callId), `abortSignal` and the scope as its `context`; `messages` is
 * empty. Values that it yields before the last are progress. `toModelOutput` and the `onInput...` callbacks are not
 * used.
 */
export function fromAiSdkTools<const Tools extends { readonly [name: string]: AiSdkTool }>(
  tools: Tools,
): AiSdkToolOf<Tools>[] {
  return Object.entries(tools).map(([name, tool]) => toTool(name, tool as Given)) as AiSdkToolOf<Tools>[]
}

export type AiSdkToolOf<Tools> = {
  [Name in keyof Tools & string]: Tools[Name] extends {
    execute: (input: infer Args, ...rest: never[]) => infer Returned
  }
    ? Tool<Name, Args, Jsonify<Yielded<Returned>>, 'server', unknown>
    : Tool<Name, unknown, unknown, 'client' | 'provider' | 'server', unknown>
}[keyof Tools & string]

type Yielded<Returned> =
  Returned extends AsyncIterable<infer Last> ? Last : Returned extends PromiseLike<infer Value> ? Value : Returned

type Given = {
  readonly type?: string
  readonly id?: `${string}.${string}`
  readonly args?: JsonObject
  readonly isProviderExecuted?: boolean
  readonly title?: string
  readonly description?: string | ((options: object) => string)
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
  readonly needsApproval?: boolean | ((input: unknown, options: object) => boolean | Promise<boolean>)
  readonly execute?: (input: unknown, options: object) => unknown
} & ModelOptions

function toTool(name: string, given: Given): Tool {
  const { type, execute, args = {}, id } = given
  const isHosted = type === 'provider' && (given.isProviderExecuted ?? !execute)
  if (isHosted) return defineTool({ name, executor: 'provider', args, ...(id ? { id } : {}) })
  const common = {
    name,
    description: descriptionOf(name, given),
    input: schemaOf(name, 'inputSchema', given.inputSchema),
    approval: approvalOf(given),
  }
  const tool = execute
    ? defineTool({ ...common, run: (input: unknown, turn) => lastOf(execute(input, executionOptions(turn)), turn) })
    : defineTool({ ...common, executor: 'client', output: schemaOf(name, 'outputSchema', given.outputSchema ?? {}) })
  const providerTool = type === 'provider' && id ? { id, args } : null
  return Object.freeze({ ...(tool as Tool), modelOptions: modelOptions(given), providerTool })
}

function descriptionOf(name: string, { title, description = title ?? name }: Given): string {
  if (typeof description === 'string') return description || name
  try {
    return description({ context: {} })
  } catch (cause) {
    throw unusable(name, `its description needs a context, and there is none yet: ${errorText(cause)}`)
  }
}

function approvalOf({ needsApproval = false }: Given): ServerAttributes['approval'] & {} {
  if (typeof needsApproval === 'function') {
    return async (input: unknown, turn: Turn) => needsApproval(input, executionOptions(turn))
  }
  return needsApproval ? 'required' : 'auto'
}

/** AI SDK 6 calls `context` `experimental_context`. */
function executionOptions({ callId, signal, scope }: Turn): object {
  return { toolCallId: callId, messages: [], abortSignal: signal, context: scope, experimental_context: scope }
}

async function lastOf(returned: unknown, turn: Turn): Promise<unknown> {
  const value = await returned
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return value
  let last: { readonly value: unknown } | null = null
  for await (const item of value as AsyncIterable<unknown>) {
    if (last) turn.reportProgress(last.value)
    last = { value: item }
  }
  return last?.value
}

/** The result of `jsonSchema()` in the AI SDK. */
type AiSchema = { readonly jsonSchema: JsonObject; readonly validate?: (value: unknown) => unknown }

function schemaOf(name: string, key: string, given: unknown): Schema {
  if (isStandardSchema(given)) return given
  const made = typeof given === 'function' ? given() : given
  if (isStandardSchema(made)) return made
  if (typeof made === 'object' && made !== null && 'jsonSchema' in made) {
    const { jsonSchema, validate } = made as AiSchema
    if ('then' in jsonSchema) throw unusable(name, `'${key}' is asynchronous; pass a Standard Schema or a JSON Schema`)
    return validate ? standardSchema(jsonSchema, validate) : jsonSchema
  }
  if (isSchema(made)) return made
  throw unusable(name, `'${key}' is not a schema`)
}

function standardSchema(jsonSchema: JsonObject, validate: (value: unknown) => unknown): Schema {
  const standard: StandardSchemaV1.Props & StandardJSONSchemaV1.Props = {
    version: 1,
    vendor: 'ai',
    jsonSchema: { input: () => jsonSchema, output: () => jsonSchema },
    validate: async (value) => {
      const result = (await validate(value)) as { success: boolean; value?: unknown; error?: unknown }
      return result.success ? { value: result.value } : { issues: [{ message: errorText(result.error) }] }
    },
  }
  return { '~standard': standard } as Schema
}

function modelOptions({ strict, inputExamples, providerOptions }: Given): ModelOptions {
  return {
    ...(strict === undefined ? {} : { strict }),
    ...(inputExamples === undefined ? {} : { inputExamples }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  }
}

function unusable(name: string, problem: string): DefinitionError {
  return new DefinitionError(`The tool '${name}'`, [problem])
}
