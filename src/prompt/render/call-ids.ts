/** The ids that calls carry in one prompt, each used once. */
export class CallIds {
  readonly #used = new Set<string>()
  readonly #before: CallIds | null

  /** `before`: of what stands before in the prompt. It is not touched. */
  constructor(before: CallIds | null = null) {
    this.#before = before
  }

  /** The provider's id, unless it was used before or is not one that every provider takes; then ours. */
  take({ callId, providerCallId }: { readonly callId: string; readonly providerCallId: string }): string {
    const isFree = usable.test(providerCallId) && !this.#has(providerCallId)
    const id = isFree ? providerCallId : this.#unused(callId)
    this.#used.add(id)
    return id
  }

  /** For a call the model's host runs, which has no id of ours to fall back on. False when the id was used before. */
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

/** OpenAI takes 40 characters, Anthropic only these. */
const usable = /^[a-zA-Z0-9_-]{1,40}$/
