/** The ids that calls carry in one prompt, each used once. */
export class CallIds {
  readonly #used = new Set<string>()
  readonly #byCall = new Map<string, string>()

  /** The provider's id, unless it was used before or is not one that every provider takes; then ours. */
  of(call: { readonly callId: string; readonly providerCallId: string }): string {
    const known = this.#byCall.get(call.callId)
    if (known !== undefined) return known
    const isUsable = usable.test(call.providerCallId) && !this.#used.has(call.providerCallId)
    const id = isUsable ? call.providerCallId : this.#unused(call.callId)
    this.#used.add(id)
    this.#byCall.set(call.callId, id)
    return id
  }

  /** For a call the model's host runs, which has no id of ours to fall back on. False when the id was used before. */
  claim(providerCallId: string): boolean {
    if (providerCallId === '' || this.#used.has(providerCallId)) return false
    this.#used.add(providerCallId)
    return true
  }

  #unused(callId: string): string {
    const plain = usable.test(callId) ? callId.slice(0, 36) : callId.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 36)
    let id = plain
    for (let n = 2; this.#used.has(id); n++) id = `${plain}_${n}`
    return id
  }
}

/** OpenAI takes 40 characters, Anthropic only these. */
const usable = /^[a-zA-Z0-9_-]{1,40}$/
