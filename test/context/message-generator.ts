import type { Json, JsonObject } from '../../src/base/json.ts'
import type { AssistantPart, ModelRef, UserMessage, UserPart } from '../../src/log/events.ts'
import type { DraftCall } from '../../src/log/settle.ts'
import type { SeededRandom } from '../faults/harness/seeded-random.ts'
import { draftCall } from '../log/story.ts'

export const models: readonly ModelRef[] = [
  { provider: 'openai.responses', modelId: 'gpt-5' },
  { provider: 'openai.chat', modelId: 'gpt-4o' },
  { provider: 'anthropic.messages', modelId: 'claude-sonnet-4-5' },
  { provider: 'google.generative-ai', modelId: 'gemini-3-pro' },
]

const oddNames = ['weird name!', '', '3d', 'x'.repeat(100), 'ünï', 'functions.look', '-', '\ud800']
const oddIds = ['', 'with space', 'y'.repeat(80), 'a:b', 'functions.look:0', '🎉']
const oddArgs: Json[] = ['{"broken', [1, 2], null, 7, { q: '\udc00', '\ud800': [{ '': null }] }, {}]
const words = ['order', 'refund', 'Rome', 'yes', 'the parcel', '42', 'bitte', '🎉', '请']

/** What people, models and tools say, with everything odd that a log can hold. */
export class MessageGenerator {
  readonly #random: SeededRandom
  /** Most messages of a log are of one model, so that there is something to give back to it. */
  readonly #home: ModelRef
  #count: number

  /** Names count on from `after`, so that a log that goes on has no name twice. */
  constructor(random: SeededRandom, after = 0) {
    this.#random = random
    this.#count = after
    this.#home = random.pick(models)
  }

  name(prefix: string): string {
    return `${prefix}${++this.#count}`
  }

  model(): ModelRef {
    return this.#random.chance(0.75) ? this.#home : this.#random.pick(models)
  }

  text(): string {
    const random = this.#random
    if (random.chance(0.04)) return random.pick(['', ' ', '\n\n'])
    if (random.chance(0.03)) return 'half a pair \ud83d here'
    return Array.from({ length: random.int(1, 8) }, () => random.pick(words)).join(' ')
  }

  userMessage(): UserMessage {
    const count = this.#random.pick([0, 1, 1, 1, 1, 1, 1, 1, 2])
    return { parts: Array.from({ length: count }, () => this.userPart()) }
  }

  userPart(): UserPart {
    const random = this.#random
    if (!random.chance(0.08)) return { type: 'text', text: this.text() }
    const blob = { blob: 'a'.repeat(64), mediaType: 'image/png', size: 3 }
    const data = random.pick(['https://example.com/a.png', blob, 'not a url'])
    return { type: 'file', mediaType: 'image/png', data, ...(random.chance(0.5) ? { filename: 'a.png' } : {}) }
  }

  /** In the order a stream might have them. */
  assistantParts(calls: readonly DraftCall[], model: ModelRef): AssistantPart[] {
    const random = this.#random
    const parts: AssistantPart[] = []
    if (random.chance(0.35)) parts.push(this.#reasoning(model))
    if (random.chance(0.8)) parts.push({ type: 'text', text: this.text(), ...this.#metadata(model) })
    if (random.chance(0.15)) parts.push(...this.#hosted(model))
    if (random.chance(0.05)) parts.push({ type: 'source', source: { id: 's', url: 'https://example.com' } })
    if (random.chance(0.05)) parts.push({ type: 'file', mediaType: 'image/png', data: 'https://example.com/b.png' })
    if (random.chance(0.1)) parts.push(this.#reasoning(model))
    for (const { callId } of calls) parts.push({ type: 'call', callId, ...this.#metadata(model) })
    if (random.chance(0.1)) parts.push({ type: 'text', text: this.text() })
    if (random.chance(0.05)) parts.push(this.#reasoning(model))
    return parts
  }

  call(): DraftCall {
    const random = this.#random
    const callId = this.name('c')
    const executor = random.pick(['server', 'server', 'server', 'human', 'client', 'agent'] as const)
    const result = random.chance(0.08) ? { result: { ok: false as const, error: 'no such tool' } } : {}
    return draftCall(callId, {
      providerCallId: this.#providerCallId(callId),
      name: random.chance(0.1) ? random.pick(oddNames) : random.pick(['look', 'refund']),
      args: random.chance(0.1) ? random.pick(oddArgs) : { q: this.text() },
      executor,
      gated: executor !== 'human' && random.chance(0.35),
      ifInterrupted: random.pick(['report', 'rerun', 'ask'] as const),
      ...result,
    })
  }

  /** What a tool, a client or a person answers with. */
  value(): Json {
    const random = this.#random
    return random.pick<() => Json>([
      () => this.text(),
      () => ({ found: this.text(), n: random.int(0, 9) }),
      () => [this.text(), null, true],
      () => null,
      () => '',
      () => ({ broken: '\ud800' }),
    ])()
  }

  /** Some providers count from 0 in every message. */
  #providerCallId(callId: string): string {
    if (this.#random.chance(0.1)) return 'call_0'
    return this.#random.chance(0.15) ? this.#random.pick(oddIds) : `call_${callId}`
  }

  #reasoning(model: ModelRef): AssistantPart {
    const text = this.#random.chance(0.1) ? '' : this.text()
    const signature: JsonObject = { signature: this.name('signature-') }
    const byProvider: Record<string, JsonObject> = {
      'anthropic.messages': { anthropic: signature },
      'openai.responses': { openai: { itemId: this.name('rs_'), reasoningEncryptedContent: this.name('secret') } },
      'google.generative-ai': { google: { thoughtSignature: this.name('thought-') } },
    }
    const providerMetadata = byProvider[model.provider]
    return { type: 'reasoning', text, ...(providerMetadata ? { providerMetadata } : {}) }
  }

  #metadata(model: ModelRef): { providerMetadata?: JsonObject } {
    if (model.provider === 'openai.responses') return { providerMetadata: { openai: { itemId: this.name('item_') } } }
    if (model.provider === 'google.generative-ai' && this.#random.chance(0.5))
      return { providerMetadata: { google: { thoughtSignature: this.name('thought-') } } }
    return {}
  }

  /** A call its host ran, with its result; now and then one of the two is missing or broken. */
  #hosted(model: ModelRef): AssistantPart[] {
    const random = this.#random
    const providerCallId = random.chance(0.1) ? 'ws_0' : this.name('ws_')
    const name = 'web_search'
    const isAnthropic = model.provider.startsWith('anthropic')
    const found = {
      url: 'https://example.com',
      title: 'a',
      pageAge: null,
      encryptedContent: 'x',
      type: 'web_search_result',
    }
    const result: Json = isAnthropic ? [found] : { action: { type: 'search', query: 'a' } }
    const call: AssistantPart = { type: 'provider_call', providerCallId, name, args: { query: this.text() } }
    const answer: AssistantPart = { type: 'provider_result', providerCallId, name, result }
    return random.pick<AssistantPart[]>([
      ...Array.from({ length: 8 }, () => [call, answer]),
      [call],
      [answer],
      [answer, call],
      [call, { ...answer, result: null }],
      [call, answer, call, answer],
      [call, { ...answer, result: { errorCode: 'unavailable' }, isError: true }],
    ])
  }
}
