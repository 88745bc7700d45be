import type { Json, JsonObject } from '../../base/json.ts'
import { errorText, type Redact } from '../../base/redact/redactor.ts'
import type { ModelTool } from '../../define/language-model.ts'
import { maxArgsBytes, maxPromptBytes, normaliseValue } from '../../define/normalise-result.ts'
import type { Tool, ToolSet } from '../../define/tool.ts'
import { type Turn, turnOf } from '../../define/turn.ts'
import { validate } from '../../define/validate.ts'
import { encode } from '../../log/codec.ts'
import type { DraftCall } from '../../log/settle.ts'

/** A call as it came from the model: `input` is the text of its arguments. */
export type RawCall = {
  readonly callId: string
  readonly providerCallId: string
  readonly name: string
  readonly input: string
}

/** `offered`: the tools that hooks have left; absent where they left all. */
type Preparing = { readonly redact: Redact; readonly offered?: readonly string[] | undefined }

type CallableTool = Exclude<Tool, { executor: 'provider' }>

/**
 * Makes the decisions about a call that are made once. A call that cannot be made gets a result the model can read. `args` is what the model
 * passed, not what the schema made of it: `runTool` applies the schema again. Never rejects.
 */
export async function prepareCall(
  raw: RawCall,
  tools: ToolSet,
  turn: Turn,
  { redact, offered }: Preparing,
): Promise<DraftCall> {
  const parsed = parseInput(raw.input)
  const draft: DraftCall = {
    callId: raw.callId,
    providerCallId: raw.providerCallId,
    name: usableName(raw.name),
    args: parsed.args,
    executor: 'server',
    gated: false,
    ifInterrupted: 'report',
    timeoutMs: null,
    expiresInMs: null,
  }
  const refused = (error: string): DraftCall => ({ ...draft, result: { ok: false, error } })

  const tool = tools.get(raw.name)
  if (!tool) return refused(`there is no tool '${raw.name}'; ${available(tools, offered)}`)
  if (offered && !offered.includes(raw.name)) {
    return refused(`the tool '${raw.name}' cannot be called in this step; ${available(tools, offered)}`)
  }
  if (tool.executor === 'provider') return refused(`the tool '${raw.name}' is run by the model's provider, not here`)
  if (parsed.problem !== null) return refused(`the arguments for '${raw.name}' ${parsed.problem}`)
  const checked = await validate(tool.input, parsed.args)
  if (!checked.ok) return refused(`invalid arguments for '${raw.name}': ${checked.issues}`)

  const schema = recordedSchema(tool, checked.value)
  if (schema instanceof Error) return refused(`invalid arguments for '${raw.name}': ${errorText(schema)}`)
  const callTurn = turnOf({ ...turn, callId: raw.callId })
  const gated = await isGated(tool, checked.value, callTurn)
  const server = tool.executor === 'server' ? tool : null
  const mayWaitForSomeone = gated || tool.executor === 'human' || tool.executor === 'client'
  const isShown = mayWaitForSomeone || server?.ifInterrupted === 'ask'
  const description = descriptionOf(tool, checked.value, redact)
  return {
    ...draft,
    ...(description === null ? {} : { description }),
    executor: tool.executor,
    gated,
    ifInterrupted: server?.ifInterrupted ?? 'report',
    timeoutMs: server?.timeoutMs ?? null,
    expiresInMs: tool.expiresInMs,
    ...(isShown ? { prompt: await promptOf(tool, checked.value, callTurn, description) } : {}),
    ...(schema ? { schema } : {}),
  }
}

/** The schema of the answer, for tools that are answered. An error where there is none for these arguments. */
function recordedSchema(tool: CallableTool, args: unknown): JsonObject | Error | null {
  if (!('outputJsonSchema' in tool)) return null
  if (tool.executor !== 'human' || !tool.outputOf) return tool.outputJsonSchema
  try {
    return tool.outputOf(args)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function available(tools: ToolSet, offered: readonly string[] | undefined): string {
  const callable = [...tools.values()].filter((tool) => tool.executor !== 'provider').map((tool) => tool.name)
  const names = offered ? callable.filter((name) => offered.includes(name)) : callable
  return names.length > 0 ? `available: ${names.join(', ')}` : 'none are available'
}

/** Models invent names; one that providers refuse must not appear in every later prompt. */
function usableName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
}

/** What cannot be parsed or kept stays as text, as much of it as fits. */
function parseInput(input: string): { readonly args: Json; readonly problem: string | null } {
  if (Buffer.byteLength(input) > maxArgsBytes) {
    return { args: shorten(input), problem: `are too large: at most ${maxArgsBytes} bytes` }
  }
  // Models say nothing at all for tools without arguments.
  if (input.trim() === '') return { args: {}, problem: null }
  try {
    const args = JSON.parse(input) as Json
    encode(args, 'arguments')
    return { args, problem: null }
  } catch (error) {
    return { args: input, problem: `are not JSON that can be used: ${errorText(error)}` }
  }
}

/** When in doubt a person is asked. */
async function isGated(tool: CallableTool, args: unknown, turn: Turn): Promise<boolean> {
  if (tool.executor === 'human') return false
  try {
    return (await tool.isGated(args, turn)) !== false
  } catch {
    return true
  }
}

async function promptOf(tool: CallableTool, args: unknown, turn: Turn, description: string | null): Promise<Json> {
  if (description !== null && !tool.hasPrompt) return description
  try {
    const prompt = normaliseValue(await tool.prompt(args, turn))
    if (prompt.ok && Buffer.byteLength(encode(prompt.value)) <= maxPromptBytes) return prompt.value
  } catch {
    // The description says enough for a person to decide.
  }
  return tool.description
}

const maxDescription = 500

/** Null where the tool says nothing that can be shown: what it says is for people, and never decides about the call. */
function descriptionOf(tool: CallableTool, args: unknown, redact: Redact): string | null {
  try {
    const told: unknown = tool.describe(args)
    // A promise is not waited for, and what becomes of it is of no interest.
    if (told instanceof Promise) told.catch(() => {})
    if (typeof told !== 'string') return null
    const line = redact(told.slice(0, 8 * maxDescription))
      .replaceAll(/\s+/g, ' ')
      .trim()
    return line.slice(0, maxDescription).toWellFormed() || null
  } catch {
    // The arguments tell a person as much.
    return null
  }
}

const maxShownArgs = 8_192

/** The beginning of arguments that are too large, with a note of the full size. */
function shorten(text: string): string {
  if (text.length <= maxShownArgs) return text
  const note = ` ... (${text.length} characters in all)`
  return text.slice(0, maxShownArgs - note.length).toWellFormed() + note
}

/** Tools as they are described to a model. `provider` is that of the model, for provider-run tools that do not name theirs. */
export function modelTools(tools: readonly Tool[], provider = 'provider'): ModelTool[] {
  return tools.map((tool) => {
    const { name, description, providerTool, modelOptions } = tool
    if (providerTool || tool.executor === 'provider') {
      const { id, args } = providerTool ?? { id: null, args: {} }
      return {
        type: 'provider',
        name,
        id: (id ?? defaultId(name, provider)) as `${string}.${string}`,
        args: { ...args },
      }
    }
    return { type: 'function', name, description, inputSchema: tool.inputJsonSchema, ...modelOptions } as ModelTool
  })
}

/** The provider of a model reads `anthropic.messages`; its tools are called `anthropic.<tool>`. */
function defaultId(name: string, provider: string): string {
  return `${provider.split('.')[0]}.${name}`
}
