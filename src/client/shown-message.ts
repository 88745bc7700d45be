/** A chunk of a UI message stream of the AI SDK. */
export type Chunk = { readonly type: string; readonly [key: string]: unknown }

/** The parts of an AI SDK message that this file reads. */
export type ChatMessage = {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly metadata?: unknown
  readonly parts: readonly { readonly type: string }[]
}

type Part = TextPart | CallPart | DataPart
type TextPart = {
  readonly kind: 'text'
  readonly type: string
  readonly id: string | null
  text: string
  end: Chunk | null
}
type CallPart = { readonly kind: 'call'; readonly id: string; readonly chunks: Chunk[]; readonly held: HeldCall | null }
/** A part that arrives in one chunk. Without an id, parts of one type are distinguished by their order. */
type DataPart = { readonly kind: 'data'; readonly type: string; readonly id: string | null; chunk: Chunk }

/** A call of a message that was on the page before the stream began. */
type HeldCall = { readonly state: string; readonly output: unknown }

/**
 * What a page shows of the message that it receives, so that a stream that begins again from the start of the message
 * adds only what is missing. Every chunk that the page is given must be taken.
 */
export class ShownMessage {
  #steps: Part[][] = []
  /** The page has an empty step at its end that the server does not know of. The next step takes its place. */
  #hasEmptyStep = false

  /** A message that is on the page already. */
  static of({ parts }: ChatMessage): ShownMessage {
    const shown = new ShownMessage()
    for (const part of parts) {
      if (part.type === 'step-start') shown.#steps.push([])
      else shown.#add(...heldPart(part))
    }
    return shown
  }

  /** Whether the page needs the chunk. */
  take(chunk: Chunk): boolean {
    if (chunk.type === 'start-step' && this.#hasEmptyStep) {
      this.#hasEmptyStep = false
      this.#steps.push([])
      return false
    }
    // The step that it closes is the empty one.
    if (chunk.type === 'finish-step' && this.#hasEmptyStep) return false
    this.#apply(chunk)
    return true
  }

  #apply(chunk: Chunk): void {
    const { type } = chunk
    const kind = /^(text|reasoning)-(start|delta|end)$/.exec(type)
    if (type === 'start-step') this.#steps.push([])
    else if (type === 'reset-step') this.#steps.splice(-1, 1, [])
    else if (kind) this.#text(kind[1]!, kind[2]!, chunk)
    else if (type.startsWith('tool-')) this.#call(chunk)
    else if (isLasting(chunk)) this.#data(chunk)
  }

  #text(type: string, what: string, chunk: Chunk): void {
    const id = String(chunk['id'])
    if (what === 'start') return this.#add({ kind: 'text', type, id, text: '', end: null })
    const part = this.#parts().findLast((one): one is TextPart => one.kind === 'text' && one.id === id)
    if (part && what === 'delta') part.text += String(chunk['delta'])
    if (part && what === 'end') part.end = chunk
  }

  #call(chunk: Chunk): void {
    const { toolCallId, approvalId } = chunk
    const isThis = (part: Part): part is CallPart =>
      part.kind === 'call' &&
      (toolCallId === undefined
        ? part.chunks.some((known) => known['approvalId'] === approvalId)
        : part.id === toolCallId)
    const known = this.#parts().findLast(isThis)
    if (known) known.chunks.push(chunk)
    else if (toolCallId !== undefined) this.#add({ kind: 'call', id: String(toolCallId), chunks: [chunk], held: null })
  }

  #data(chunk: Chunk): void {
    const { type } = chunk
    const id = type.startsWith('data-') && typeof chunk['id'] === 'string' ? chunk['id'] : null
    const isThis = (part: Part): part is DataPart => part.kind === 'data' && part.type === type && part.id === id
    const known = id === null ? undefined : this.#parts().findLast(isThis)
    if (known) known.chunk = chunk
    else this.#add({ kind: 'data', type, id, chunk })
  }

  #add(...parts: readonly Part[]): void {
    if (this.#steps.length === 0) this.#steps.push([])
    this.#steps.at(-1)!.push(...parts)
  }

  #parts(): Part[] {
    return this.#steps.flat()
  }

  /**
   * The chunks that bring the page to the state that another stream has shown. Null if no chunks can do that: something before the newest step was withdrawn,
   * or anything without `canReset`.
   */
  becomes(truth: ShownMessage, canReset: boolean): Chunk[] | null {
    const last = this.#steps.length - 1
    const chunks: Chunk[] = []
    for (const [index, shown] of this.#steps.entries()) {
      const changes = truth.#steps[index] ? partsBetween(shown, truth.#steps[index]) : null
      if (changes) {
        chunks.push(...changes)
        continue
      }
      if (!canReset || index < last) return null
      chunks.push({ type: 'reset-step' }, ...(truth.#steps[index] ?? []).flatMap(chunksOf))
    }
    for (const [index, parts] of truth.#steps.entries()) {
      if (index <= last) continue
      chunks.push(...(index > 0 ? [{ type: 'finish-step' }] : []), { type: 'start-step' }, ...parts.flatMap(chunksOf))
    }
    this.#hasEmptyStep = truth.#steps.length <= last
    this.#steps = truth.#steps
    return chunks
  }
}

/** Transient parts are not in the message. */
function isLasting({ type, transient }: Chunk): boolean {
  if (type.startsWith('data-')) return transient !== true
  return type === 'file' || type.startsWith('source-')
}

function heldPart(part: { readonly type: string }): Part[] {
  const { type, text, toolCallId, state, output, errorText } = part as Chunk
  if (type === 'text' || type === 'reasoning')
    return [{ kind: 'text', type, id: null, text: String(text), end: { type: `${type}-end` } }]
  if (typeof toolCallId === 'string') {
    const held = { state: String(state), output: output ?? errorText ?? null }
    return [{ kind: 'call', id: toolCallId, chunks: [], held }]
  }
  const id = typeof (part as Chunk)['id'] === 'string' ? ((part as Chunk)['id'] as string) : null
  return [{ kind: 'data', type, id: type.startsWith('data-') ? id : null, chunk: part as Chunk }]
}

/** What makes a part from nothing. */
function chunksOf(part: Part): Chunk[] {
  if (part.kind === 'call') return part.chunks
  if (part.kind === 'data') return [part.chunk]
  const { type, id, text, end } = part
  return [
    { type: `${type}-start`, id },
    ...(text === '' ? [] : [{ type: `${type}-delta`, id, delta: text }]),
    ...(end ? [end] : []),
  ]
}

/** Null when what is shown cannot become what is true. */
function partsBetween(shown: readonly Part[], truth: readonly Part[]): Chunk[] | null {
  const left = [...shown]
  const chunks: Chunk[] = []
  for (const part of truth) {
    const found = left.findIndex((one) => isSame(one, part))
    const changes = found < 0 ? chunksOf(part) : changesOf(left.splice(found, 1)[0]!, part)
    if (!changes) return null
    chunks.push(...changes)
  }
  // Keep only the parts that the page may still show.
  return left.every(({ kind }) => kind === 'data') ? chunks : null
}

function isSame(shown: Part, truth: Part): boolean {
  if (shown.kind === 'call') return truth.kind === 'call' && truth.id === shown.id
  if (truth.kind !== shown.kind || truth.type !== shown.type) return false
  return shown.id === null || shown.id === truth.id
}

function changesOf(shown: Part, truth: Part): Chunk[] | null {
  if (shown.kind === 'text' && truth.kind === 'text') return textChanges(shown, truth)
  if (shown.kind === 'call' && truth.kind === 'call') return callChanges(shown, truth)
  if (shown.kind !== 'data' || truth.kind !== 'data') return null
  // The address of a file changes with its signature.
  return shown.id === null || isEqual(shown.chunk['data'], truth.chunk['data']) ? [] : [truth.chunk]
}

function textChanges(shown: TextPart, { type, id, text, end }: TextPart): Chunk[] | null {
  if (shown.end) return shown.text === text || type === 'reasoning' ? [] : null
  if (!text.startsWith(shown.text)) return null
  const delta = text.slice(shown.text.length)
  return [...(delta === '' ? [] : [{ type: `${type}-delta`, id, delta }]), ...(end ? [end] : [])]
}

/** Sends the chunks of a call that the page does not have yet. The input is never sent twice: a page may run the call when it arrives. */
function callChanges({ id, chunks: told, held }: CallPart, { chunks }: CallPart): Chunk[] | null {
  const last = chunks.at(-1)
  if (!last) return []
  if (held && told.length === 0) {
    const isKnown = stateAfter(last) === held.state && isEqual(outputOf(last), held.output)
    return isKnown || isInput(last) ? [] : [last]
  }
  const [known, whole] = [inputText(told), inputText(chunks)]
  const grown = known === null || !whole?.startsWith(known) ? null : whole.slice(known.length)
  const input = grown === null ? chunks.filter(isInput) : inputDelta(id, grown)
  const rest: Chunk[] = []
  let place = 0
  for (const chunk of chunks.filter((one) => !isInput(one))) {
    const found = told.findIndex((one, index) => index >= place && isEqual(one, chunk))
    if (found < 0) rest.push(chunk)
    else place = found + 1
  }
  return [...input, ...rest]
}

/** Whether the chunk is a piece of an input that is still being written. */
function isInput({ type }: Chunk): boolean {
  return type === 'tool-input-start' || type === 'tool-input-delta'
}

function inputText(chunks: readonly Chunk[]): string | null {
  const written = chunks.filter(isInput)
  return written.length === 0 ? null : written.map((chunk) => chunk['inputTextDelta'] ?? '').join('')
}

function inputDelta(toolCallId: string, inputTextDelta: string): Chunk[] {
  return inputTextDelta === '' ? [] : [{ type: 'tool-input-delta', toolCallId, inputTextDelta }]
}

function stateAfter({ type }: Chunk): string {
  if (type === 'tool-approval-request') return 'approval-requested'
  if (type === 'tool-approval-response') return 'approval-responded'
  return isInput({ type }) ? 'input-streaming' : type.replace(/^tool-/, '')
}

function outputOf({ type, output, errorText }: Chunk): unknown {
  return type.startsWith('tool-output-') ? (output ?? errorText ?? null) : null
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
