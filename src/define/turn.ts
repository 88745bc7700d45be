import { DefinitionError } from '../base/errors/definition-errors.ts'
import { unknownKeys } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import { isBlobRef, isFileUrl } from '../log/blob-ref.ts'
import { encode } from '../log/codec.ts'
import type { AssistantMsg, FilePart, TextPart, UserMessage, UserPart } from '../log/events.ts'
import type { Scope } from './scope.ts'

/** What hooks and tools are given. Immutable: `inject` makes a new one. */
export type Turn = {
  /** Who acts. */
  readonly scope: Scope
  /** The `turnId` with the step; null outside a conversation. */
  readonly turnRef: string | null
  /** What the model is about to be given, without injections; empty in tools. Must not be changed. */
  readonly context: readonly ContextMessage[]
  /** The message that opened the turn. */
  readonly userMessage: UserMessage | null
  /** What pre-hooks have added so far for this model call. */
  readonly injections: readonly UserPart[]
  /** What the model answered; only in post-hooks. */
  readonly assistantMessage: FinalMessage | null
  /** The call this tool runs for: the same in every attempt, so it serves as idempotency key. Null in hooks. */
  readonly callId: string | null
  /** Aborted when the turn is cancelled, or the tool or hook has passed its time. */
  readonly signal: AbortSignal
  /** Tells watchers how far a server tool is. Does nothing elsewhere, and nothing after the tool has ended. */
  reportProgress(payload: unknown): void
}

/** A message of the rendered prompt, as far as hooks may rely on it. */
export type ContextMessage = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly { readonly type: string }[]
}

/** A message as the model finished it, before it is committed; its calls with their names and arguments. */
export type FinalMessage = Pick<AssistantMsg, 'messageId' | 'parts' | 'model' | 'usage' | 'finishReason' | 'object'> & {
  readonly text: string
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly args: Json }[]
}

/** What `createTurn` takes: a scope, and whatever a test wants to be there. */
export type TurnAttributes = Pick<Turn, 'scope'> & Partial<Turn>

/**
 * A turn as hooks and tools get it, for tests of them. Throws `DefinitionError` on unknown keys and on a missing scope: nothing acts
 * without an identity.
 */
export function createTurn(attributes: TurnAttributes): Turn {
  const problems = unknownKeys(attributes, turnKeys)
  const { scope } = Object(attributes) as TurnAttributes
  if (scope === undefined || scope === null) problems.push(missingScope)
  if (problems.length > 0) throw new DefinitionError('The turn', problems)
  return turnOf(attributes)
}

/** Skips the check for unknown keys, which engine code cannot get wrong. The scope is still checked, because the application supplies it. */
export function turnOf(attributes: TurnAttributes): Turn {
  if (attributes.scope === undefined || attributes.scope === null) throw new DefinitionError('The turn', [missingScope])
  return Object.freeze(new FrozenTurn(attributes))
}

const missingScope = "'scope' is missing; pass who acts, or systemScope()"

/** A turn with these parts after the ones it has. They land beside the user message and are trusted like it: fence what is not yours. */
export function inject(turn: Turn, parts: PartsInput): Turn {
  return createTurn({ ...turn, injections: [...turn.injections, ...toUserParts(parts)] })
}

/** Made by `createTurn` or `inject`: a copy by hand is not one. */
export function isTurn(value: unknown): value is Turn {
  return typeof value === 'object' && value !== null && brand in value
}

const brand = Symbol.for('perdure.turn')
const neverAborted = new AbortController().signal
const none: readonly never[] = Object.freeze([])
const reportsNothing = (): void => {}

class FrozenTurn implements Turn {
  readonly scope: Scope
  readonly turnRef: string | null
  readonly context: readonly ContextMessage[]
  readonly userMessage: UserMessage | null
  readonly injections: readonly UserPart[]
  readonly assistantMessage: FinalMessage | null
  readonly callId: string | null
  readonly signal: AbortSignal
  readonly reportProgress: Turn['reportProgress']

  constructor(given: TurnAttributes) {
    this.scope = given.scope
    this.turnRef = given.turnRef ?? null
    this.context = given.context ?? none
    this.userMessage = given.userMessage ?? null
    this.injections = given.injections ?? none
    this.assistantMessage = given.assistantMessage ?? null
    this.callId = given.callId ?? null
    this.signal = given.signal ?? neverAborted
    this.reportProgress = given.reportProgress ?? reportsNothing
    deepFreeze(this.userMessage)
    deepFreeze(this.injections)
    deepFreeze(this.assistantMessage)
  }

  /** Lives on the prototype, so a copy made by spreading does not carry it. */
  get [brand](): true {
    return true
  }
}

const turnKeys: readonly (keyof Turn)[] = [
  'scope',
  'turnRef',
  'context',
  'userMessage',
  'injections',
  'assistantMessage',
  'callId',
  'signal',
  'reportProgress',
]

/** What hooks see is also what is committed after them, so they must not be able to change it. */
function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  // Bytes cannot be frozen.
  if (ArrayBuffer.isView(value)) return
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
}

/** What may be injected: text, a part, or several parts. */
export type PartsInput = string | UserPart | readonly UserPart[]

/** Checked, frozen copies of what is known of a part. Empty texts are left out, because providers refuse them. Throws on anything that is not a part. */
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
