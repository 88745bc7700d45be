import type { Json } from '../../base/json.ts'

/** The ids that calls have in one prompt, each used once. */
export class CallIds {
  readonly #used = new Set<string>()
  readonly #before: CallIds | null

  /** `before`: the ids of earlier messages of the prompt. Not modified. */
  constructor(before: CallIds | null = null) {
    this.#before = before
  }

  /** The provider's id, unless it was used before or some provider does not accept it; then Perdure's. */
  take({ callId, providerCallId }: { readonly callId: string; readonly providerCallId: string }): string {
    const isFree = usable.test(providerCallId) && !this.#has(providerCallId)
    const id = isFree ? providerCallId : this.#unused(callId)
    this.#used.add(id)
    return id
  }

  /** For a call of the model's host, which has no id of Perdure's. False when the id was used before. */
  claim(providerCallId: string): boolean {
    if (providerCallId === '' || this.#has(providerCallId)) return false
    this.#used.add(providerCallId)
    return true
  }

  #has(id: string): boolean {
    return this.#used.has(id) || this.#isUsedBefore(id)
  }

  #isUsedBefore(id: string): boolean {
    return this.#before ? this.#before.#has(id) : false
  }

  #unused(callId: string): string {
    const plain = usable.test(callId) ? callId.slice(0, 36) : callId.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 36)
    let id = plain
    for (let n = 2; this.#has(id); n++) id = `${plain}_${n}`
    return id
  }
}

/** OpenAI accepts 40 characters, Anthropic only these. */
const usable = /^[a-zA-Z0-9_-]{1,40}$/

/**
 * A copy that shares no object with the log, so that providers, middleware and hooks cannot change the log through a
 * prompt.
 */
export function ownCopy(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(ownCopy)
  // A key may be '__proto__'. After spreading it is an own key, and assigning to it keeps it one.
  const copy = { ...value } as { [key: string]: Json }
  for (const key of Object.keys(copy)) {
    const member = copy[key]!
    if (typeof member === 'object') copy[key] = ownCopy(member)
  }
  return copy
}

/** A copy without lone surrogates: the log keeps them, but providers refuse them. Shares no object with the log. */
export function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (isWellFormed(value)) return ownCopy(value)
  if (Array.isArray(value)) return value.map(wellFormed)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]))
}

function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  for (const key of Object.keys(value)) {
    if (!key.isWellFormed() || !isWellFormed((value as { readonly [key: string]: Json })[key]!)) return false
  }
  return true
}
