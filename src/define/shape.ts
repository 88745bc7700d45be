import { readArgument, unknownKeys } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { encode } from '../log/codec.ts'
import { type Check, id, json, list, object, simple, text, union } from '../log/field-check.ts'
import { type ModelPrompt, type ModelSettings, settingsProblems } from './language-model.ts'
import { type ContextMessage, createTurn, type Turn } from './turn.ts'

/** What pre-hooks have changed of one model call. */
export type Shape = {
  /** All that the model sees, instructions included. Injections follow. */
  readonly messages?: readonly ContextMessage[]
  /** The names of the tools that the model may call. */
  readonly tools?: readonly string[]
  /** Replace the agent's settings of the same name. */
  readonly settings?: ModelSettings
}

/** What `shape` accepts: `messages` also in the form of the AI SDK. */
export type ShapeAttributes = Omit<Shape, 'messages'> & {
  readonly messages?: readonly (ContextMessage | ModelPrompt[number])[]
}

/**
 * A turn whose next model call sees these messages, may call these tools only, and is made with these settings. For
 * this one call: the log stays as it is. Begin with `turn.context`, which has the instructions too. Later hooks see the
 * shaped messages as `turn.context`; a tool that one hook leaves out stays out.
 */
export function shape(turn: Turn, changes: ShapeAttributes): Turn {
  return readArgument('changes', () => createTurn({ ...turn, ...shapedMembers(turn, changes) }))
}

function shapedMembers(turn: Turn, changes: ShapeAttributes): Pick<Turn, 'shape'> & Partial<Turn> {
  const [problem] = unknownKeys(changes, ['messages', 'tools', 'settings'])
  if (problem !== undefined) throw new InvalidArgumentError('changes', problem)
  const { messages, tools, settings } = changes
  const checked = messages === undefined ? {} : { messages: ownMessages(messages) }
  const shaped: Shape = {
    ...turn.shape,
    ...checked,
    ...(tools === undefined ? {} : { tools: narrowed(tools, turn.shape?.tools) }),
    ...(settings === undefined ? {} : { settings: { ...turn.shape?.settings, ...checkedSettings(settings) } }),
  }
  return { shape: shaped, ...(checked.messages ? { context: checked.messages } : {}) }
}

function narrowed(tools: unknown, before: readonly string[] | undefined): readonly string[] {
  // Not `every`, which visits each hole of a long list.
  const isWrong = !Array.isArray(tools) || tools.findIndex((name) => typeof name !== 'string') >= 0
  if (isWrong) throw new InvalidArgumentError('tools', 'must be a list of names of tools')
  return Object.freeze([...new Set<string>(tools)].filter((name) => before?.includes(name) ?? true))
}

function checkedSettings(settings: ModelSettings): ModelSettings {
  const [problem] = settingsProblems(settings)
  if (problem !== undefined) throw new InvalidArgumentError('settings', problem)
  const read = { ...settings }
  for (const value of Object.values(read)) if (value !== undefined) encode(value, 'settings')
  return read
}

/** A frozen copy of messages, so that what a hook does with its own objects later changes nothing. */
function ownMessages(messages: unknown): readonly ContextMessage[] {
  if (!messagesCheck.fits(messages)) {
    throw new InvalidArgumentError(
      'messages',
      `are not messages of a prompt: ${messagesCheck.problem(messages, 'messages')}`,
    )
  }
  return ownCopy(messages) as readonly ContextMessage[]
}

/** Bytes and URLs are shared; all else is copied. */
function ownCopy(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map(ownCopy))
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || value instanceof URL) return value
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, ownCopy(member)])))
}

const isBytes = simple((value) => value instanceof Uint8Array || typeof value === 'string', 'be bytes or base64')
const textPart = object({ text })
const filePart = object({
  mediaType: text,
  data: union('type', {
    data: object({ data: isBytes }),
    url: object({ url: simple((value) => value instanceof URL, 'be a URL object') }),
    text: object({ text }),
    reference: object({}),
  }),
})
const resultPart = object({ toolCallId: id, toolName: id, output: object({ type: id }) })
const messagesCheck: Check = list(
  union('role', {
    system: object({ content: text }),
    user: object({ content: list(union('type', { text: textPart, file: filePart })) }),
    assistant: object({
      content: list(
        union('type', {
          text: textPart,
          file: filePart,
          reasoning: textPart,
          'reasoning-file': filePart,
          custom: object({}),
          'tool-call': object({ toolCallId: id, toolName: id, input: json }),
          'tool-result': resultPart,
        }),
      ),
    }),
    tool: object({ content: list(union('type', { 'tool-result': resultPart })) }),
  }),
)
