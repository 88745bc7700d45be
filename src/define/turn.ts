import { DefinitionError, StateRefusedError } from '../base/errors/definition-errors.ts'
import { unknownKeys } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import { isBlobRef, isFileUrl } from '../log/blob-ref.ts'
import { encode } from '../log/codec.ts'
import type { AssistantMsg, FilePart, TextPart, UserMessage, UserPart } from '../log/events.ts'
import type { Scope } from './scope.ts'
import type { Shape } from './shape.ts'
import type { AskedByTool, ToolAnswer, ToolQuestionAttributes } from './tool-question.ts'

/**
 * What hooks and tools get. Immutable: `inject` returns a new one. `State` is the type of the application's state; tools
 * and hooks name it in the type of their turn.
 */
export type Turn<State extends object = AnyState> = {
  /** The identity that acts: of the user who opened the turn, rebuilt from the log. */
  readonly scope: Scope
  /** The name of the agent. Null outside a conversation, like the four members after it. */
  readonly agent: string | null
  readonly conversationId: string | null
  readonly turnId: string | null
  /** How many messages the model has written in this turn before the one that is next, or that made this call. */
  readonly step: number | null
  /** The `turnId` with the step. */
  readonly turnRef: string | null
  /**
   * In hooks: the prompt of the model call, without injections. In tools: the messages that the model saw when it made
   * the call, rendered from the log when first asked for, without instructions and without what hooks that are not
   * durable added. Stored files are only named, except in pre-hooks. Empty in `instructions`. Must not be changed.
   */
  readonly context: readonly ContextMessage[]
  /** The message that opened the turn. */
  readonly userMessage: UserMessage | null
  /** The `data` that came with that message, as JSON. Null: none. Must not be changed. */
  readonly data: Json
  /** What pre-hooks have injected so far for this model call. */
  readonly injections: readonly UserPart[]
  /** What pre-hooks have shaped so far of this model call. Null: nothing. */
  readonly shape: Shape | null
  /** The model's message. Only in post-hooks. */
  readonly assistantMessage: FinalMessage | null
  /** The call that this tool runs for. The same in every attempt, so it can be an idempotency key. Null in hooks. */
  readonly callId: string | null
  /**
   * Who approved the call, and when, in milliseconds since 1970 by the store's clock. The tool still acts for the user who opened the turn: `scope` is theirs. Null in
   * hooks, and for calls that needed no approval.
   */
  readonly approval: Approval | null
  /**
   * The state of the conversation as it was when the tool, hook or instructions began. In an extension: its own part.
   * Empty for an agent without `state`. Must not be changed.
   */
  readonly state: State
  /**
   * Changes the state together with the result of a server tool, if the tool succeeds: the change and the result are one
   * commit. An object sets its top-level keys, `undefined` removes one. A function gets the newest state and returns such
   * an object; it must be pure and synchronous, because it runs when the result is recorded, and again if the log has
   * grown meanwhile. Throws `StateRefusedError` elsewhere, and after the tool has ended.
   */
  setState(update: StateUpdate<State>): void
  /**
   * Asks a person in the middle of a server tool: `return turn.ask({ prompt, schema, state })`. The call waits for an answer of the JSON Schema `schema`, for
   * weeks if need be; then `run` is called again with the same arguments, in any process, with the answer and `state` in `turn.answer`. `state` is kept in the
   * log, at most 64 KiB, and so is the prompt. Throws outside a server tool.
   */
  ask(question: ToolQuestionAttributes): AskedByTool
  /** The answer to the newest question of this call's tool, with the `state` that it asked with. Null: it has not asked. */
  readonly answer: ToolAnswer | null
  /** Aborted when the turn is cancelled, or when the tool or hook has timed out. */
  readonly signal: AbortSignal
  /** Reports the progress of a server tool to watchers. Does nothing elsewhere, or after the tool has ended. */
  reportProgress(payload: unknown): void
}

/** Who approved a call, and when. */
export type Approval = { readonly who: string; readonly at: number }

/** State whose type is not known. */
export type AnyState = { readonly [key: string]: unknown }

/** A change of state: the keys to set, with `undefined` for those to remove. Or a pure function from the newest state to that. */
export type StateUpdate<State extends object = AnyState> = StateChange<State> | ((state: State) => StateChange<State>)

/** The keys to set, with `undefined` for those to remove. */
export type StateChange<State extends object = AnyState> = { readonly [Key in keyof State]?: State[Key] | undefined }

/** A message of the rendered prompt, as far as hooks may rely on it. */
export type ContextMessage = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly { readonly type: string }[]
}

/** The model's finished message before it is committed, with the names and arguments of its calls. */
export type FinalMessage = Pick<AssistantMsg, 'messageId' | 'parts' | 'model' | 'usage' | 'finishReason' | 'object'> & {
  readonly text: string
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly args: Json }[]
}

/** The attributes of `createTurn`: a scope, and whatever else a test needs. */
export type TurnAttributes = Pick<Turn, 'scope'> & Partial<Turn>

/**
 * Creates a turn for tests of hooks and tools. Throws `DefinitionError` on unknown keys and on a missing scope: nothing
 * acts without an identity.
 */
export function createTurn(attributes: TurnAttributes): Turn {
  const problems = unknownKeys(attributes, turnKeys)
  const { scope } = Object(attributes) as TurnAttributes
  if (scope === undefined || scope === null) problems.push(missingScope)
  if (problems.length > 0) throw new DefinitionError('The turn', problems)
  return turnOf(attributes)
}

/**
 * Skips the check for unknown keys, which engine code cannot get wrong. The scope is still checked, because the
 * application supplies it. A `context` that is a function is called when a tool or hook first asks for it.
 */
export function turnOf(attributes: EngineTurn): Turn {
  checkTurnScope(attributes.scope)
  return Object.freeze(new FrozenTurn(attributes))
}

/** Nothing acts without an identity. */
export function checkTurnScope(scope: unknown): void {
  if (scope === undefined || scope === null) throw new DefinitionError('The turn', [missingScope])
}

const missingScope = "'scope' is missing; pass who acts, or systemScope()"

/**
 * A turn with these parts added. They are placed next to the user's message and trusted like it: quote text that you do
 * not trust.
 */
export function inject(turn: Turn, parts: PartsInput): Turn {
  return createTurn({ ...turn, injections: [...turn.injections, ...toUserParts(parts)] })
}

/** The member that a hook changed although it may not; null when it changed none. `inject` and `shape` change the rest. */
export function changedMember(before: Turn, after: Turn): string | null {
  const changed = turnKeys.find((key) => key !== 'context' && !shapable.includes(key) && before[key] !== after[key])
  if (changed !== undefined) return changed
  const context = (turn: Turn): unknown => (turn as FrozenTurn)[contextOf]
  const isShaped = after.shape?.messages !== before.shape?.messages
  return context(before) === context(after) || (isShaped && after.context === after.shape?.messages) ? null : 'context'
}

const shapable: readonly (keyof Turn)[] = ['injections', 'shape']

/** Whether a value was made by `createTurn` or `inject`. A manual copy was not. */
export function isTurn(value: unknown): value is Turn {
  return typeof value === 'object' && value !== null && brand in value
}

const brand = Symbol.for('perdure.turn')
const neverAborted = new AbortController().signal
const none: readonly never[] = Object.freeze([])
const noContext = (): readonly never[] => none
const reportsNothing = (): void => {}
export const noState: AnyState = Object.freeze({})
const cannotAsk = (): never => {
  throw new InvalidArgumentError('turn.ask', 'is for server tools, while they run')
}
const cannotSetState = (): never => {
  throw new StateRefusedError(
    'only server tools may call turn.setState, while they run; elsewhere use conversation.setState',
  )
}

type Context = readonly ContextMessage[]

export type EngineTurn = Omit<TurnAttributes, 'context'> & { readonly context?: Context | (() => Context) }

/** Where a turn keeps its context, so that a copy made by spreading has it without rendering it. */
const contextOf = Symbol.for('perdure.turn.context')

class FrozenTurn implements Turn {
  readonly scope: Scope
  readonly agent: string | null
  readonly conversationId: string | null
  readonly turnId: string | null
  readonly step: number | null
  readonly turnRef: string | null
  readonly [contextOf]: () => Context
  readonly userMessage: UserMessage | null
  readonly data: Json
  readonly injections: readonly UserPart[]
  readonly shape: Shape | null
  readonly assistantMessage: FinalMessage | null
  readonly callId: string | null
  readonly approval: Approval | null
  readonly state: AnyState
  readonly setState: Turn['setState']
  readonly ask: Turn['ask']
  readonly answer: ToolAnswer | null
  readonly signal: AbortSignal
  readonly reportProgress: Turn['reportProgress']

  constructor(given: EngineTurn & { readonly [contextOf]?: () => Context }) {
    this.scope = given.scope
    this.agent = given.agent ?? null
    this.conversationId = given.conversationId ?? null
    this.turnId = given.turnId ?? null
    this.step = given.step ?? null
    this.turnRef = given.turnRef ?? null
    this[contextOf] = given.context === undefined ? (given[contextOf] ?? noContext) : once(given.context)
    this.userMessage = given.userMessage ?? null
    this.data = given.data ?? null
    this.injections = given.injections ?? none
    this.shape = given.shape ?? null
    this.assistantMessage = given.assistantMessage ?? null
    this.callId = given.callId ?? null
    this.approval = given.approval ?? null
    this.state = given.state ?? noState
    this.setState = given.setState ?? cannotSetState
    this.ask = given.ask ?? cannotAsk
    this.answer = given.answer ?? null
    this.signal = given.signal ?? neverAborted
    this.reportProgress = given.reportProgress ?? reportsNothing
    deepFreeze(this.userMessage)
    deepFreeze(this.data)
    deepFreeze(this.injections)
    deepFreeze(this.assistantMessage)
    deepFreeze(this.approval)
    deepFreeze(this.answer)
    deepFreeze(this.state)
  }

  get context(): Context {
    return this[contextOf]()
  }

  /** On the prototype, so that a copy made by spreading does not carry it. */
  get [brand](): true {
    return true
  }
}

function once(context: Context | (() => Context)): () => Context {
  if (typeof context !== 'function') return () => context
  let made: Context | null = null
  return () => {
    if (!made) {
      made = context()
      deepFreeze(made)
    }
    return made
  }
}

const turnKeys: readonly (keyof Turn)[] = [
  'scope',
  'agent',
  'conversationId',
  'turnId',
  'step',
  'turnRef',
  'context',
  'userMessage',
  'data',
  'injections',
  'shape',
  'assistantMessage',
  'callId',
  'approval',
  'state',
  'setState',
  'ask',
  'answer',
  'signal',
  'reportProgress',
]

/** What hooks see is committed afterwards, so they must not be able to change it. */
export function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  // Typed arrays cannot be frozen.
  if (ArrayBuffer.isView(value)) return
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
}

/** What may be injected: text, a part, or several parts. */
export type PartsInput = string | UserPart | readonly UserPart[]

/**
 * Checked and frozen copies of the known members of parts. Empty texts are left out, because providers refuse them.
 * Throws on anything that is not a part.
 */
export function toUserParts(input: unknown): readonly UserPart[] {
  const parts = Array.isArray(input) ? input.map(toPart) : [toPart(input, 0)]
  return Object.freeze(parts.filter((part) => part.type !== 'text' || part.text !== ''))
}

function toPart(value: unknown, index: number): UserPart {
  const name = `parts[${index}]`
  const part: unknown = typeof value === 'string' ? { type: 'text', text: value } : value
  encode(part, name)
  const known = textPart(part as Partial<TextPart> | null) ?? filePart(part as Partial<FilePart> | null)
  if (known) return Object.freeze(known)
  throw new InvalidArgumentError(
    name,
    'must be a string, a text part or a file part (data: a blob ref, or a URL with http, https or data)',
  )
}

function textPart(part: Partial<TextPart> | null): TextPart | null {
  if (part?.type !== 'text' || typeof part.text !== 'string') return null
  const { type, text, providerMetadata } = part
  if (providerMetadata === undefined) return { type, text }
  return isObject(providerMetadata) ? { type, text, providerMetadata } : null
}

function filePart(part: Partial<FilePart> | null): FilePart | null {
  if (part?.type !== 'file' || typeof part.mediaType !== 'string' || part.mediaType === '') return null
  const { type, mediaType, data, filename } = part
  if (!isBlobRef(data) && (typeof data !== 'string' || !isFileUrl(data))) return null
  if (filename === undefined) return { type, mediaType, data }
  return typeof filename === 'string' ? { type, mediaType, data, filename } : null
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
