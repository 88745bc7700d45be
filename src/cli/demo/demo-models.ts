import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { MissingDependencyError } from '../../base/errors/store-errors.ts'
import type { Json } from '../../base/json.ts'
import type { LanguageModel } from '../../define/language-model.ts'
import { type Step, scriptedModel } from '../../testing/scripted-model.ts'
import { findOrder, inEuro, orders } from './support-tools.ts'

export type DemoModels = {
  readonly support: LanguageModel
  readonly researcher: LanguageModel
  readonly isScripted: boolean
  /** Shown to people. */
  readonly label: string
}

export type ModelWish = { readonly env: NodeJS.ProcessEnv; readonly isOffline: boolean; readonly pace: number }

/** A real model if the environment has a key for one, else the script. */
export async function demoModels({ env, isOffline, pace }: ModelWish): Promise<DemoModels> {
  const real = isOffline ? null : await realModel(env)
  if (real) return { support: real.model, researcher: real.model, isScripted: false, label: real.label }
  return {
    support: paced('scripted-support', scriptedSupport, pace),
    researcher: paced('scripted-researcher', scriptedResearcher, pace),
    isScripted: true,
    label: 'a script, offline',
  }
}

type Chosen = { readonly model: LanguageModel; readonly label: string }

async function realModel(env: NodeJS.ProcessEnv): Promise<Chosen | null> {
  const { PERDURE_BASE_URL: baseURL, PERDURE_MODEL: wished, ANTHROPIC_API_KEY, OPENAI_API_KEY } = env
  if (baseURL) {
    if (!/^https?:\/\/./.test(baseURL) || !URL.canParse(baseURL)) {
      throw new CommandLineError(`PERDURE_BASE_URL is '${baseURL}', which is not like http://127.0.0.1:11434/v1`)
    }
    const { createOpenAICompatible } = await needed(
      '@ai-sdk/openai-compatible',
      'PERDURE_BASE_URL',
      () => import('@ai-sdk/openai-compatible'),
    )
    const apiKey = env['PERDURE_API_KEY'] ?? OPENAI_API_KEY
    const name = wished ?? 'default'
    const provider = createOpenAICompatible({ name: 'compatible', baseURL, ...(apiKey ? { apiKey } : {}) })
    return { model: provider(name), label: `${name} at ${baseURL} (PERDURE_BASE_URL)` }
  }
  if (ANTHROPIC_API_KEY) {
    const { createAnthropic } = await needed(
      '@ai-sdk/anthropic',
      'ANTHROPIC_API_KEY',
      () => import('@ai-sdk/anthropic'),
    )
    const name = wished ?? 'claude-sonnet-4-5'
    return { model: createAnthropic({ apiKey: ANTHROPIC_API_KEY })(name), label: `${name} (ANTHROPIC_API_KEY)` }
  }
  if (OPENAI_API_KEY) {
    const { createOpenAI } = await needed('@ai-sdk/openai', 'OPENAI_API_KEY', () => import('@ai-sdk/openai'))
    const name = wished ?? 'gpt-5-mini'
    return { model: createOpenAI({ apiKey: OPENAI_API_KEY })(name), label: `${name} (OPENAI_API_KEY)` }
  }
  return null
}

async function needed<T>(packageName: string, variable: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    throw new MissingDependencyError(packageName, `The demo with ${variable}, unless with --offline,`, cause)
  }
}

/** Streams word by word, at reading speed. */
function paced(
  modelId: string,
  script: (prompt: LanguageModelV4Prompt) => Exclude<Step, string>,
  pace: number,
): LanguageModel {
  return scriptedModel(
    ({ prompt }) => {
      const { text, ...step } = script(prompt)
      const words = typeof text === 'string' ? { text: text.split(/(?<=\s)/) } : {}
      return { ...step, ...words, delayMs: 45 * pace }
    },
    { provider: 'demo', modelId },
  )
}

type Intent = {
  readonly pattern: RegExp
  /** Null: the message does not name an order. */
  readonly call: (text: string) => { readonly tool: string; readonly args: object; readonly thought: string } | null
  readonly tell: (reply: ToolReply) => string
}

/** The support agent's next step, by keywords. It plays the part of a language model, and says so. */
export function scriptedSupport(prompt: LanguageModelV4Prompt): Exclude<Step, string> {
  const asked = readPrompt(prompt)
  const intent = intents.find(({ pattern }) => pattern.test(asked.text))
  if (!intent) return { text: /\b(story|tell me)\b/i.test(asked.text) ? story : introduction }
  const call = intent.call(asked.text)
  if (!call) return { text: `Which order do you mean? There are ${orders.map(({ id }) => id).join(', ')}.` }
  const reply = replyTo(asked, call.tool)
  if (reply) return { text: intent.tell(reply) }
  return { reasoning: call.thought, calls: [{ tool: call.tool, args: call.args }] }
}

function replyTo({ replies }: Asked, tool: string): ToolReply | null {
  return replies.get(tool) ?? null
}

const intents: readonly Intent[] = [
  {
    pattern: /\b(refund|money back|pay back)\b/i,
    call: (text) => {
      const order = orderIn(text)
      if (!order) return null
      const args = { orderId: order.id, cents: order.cents }
      return {
        tool: 'refund',
        args,
        thought: `Order ${order.id} cost ${inEuro(order.cents)}. A refund needs approval.`,
      }
    },
    tell: (reply) =>
      reply.ok
        ? `Done: ${fieldOf(reply, 'paid')} went back for order ${fieldOf(reply, 'orderId')}.`
        : `The refund did not go through: ${reply.error}.`,
  },
  {
    pattern: /\b(report|sales)\b/i,
    call: () => ({ tool: 'sales_report', args: {}, thought: 'Counting takes some seconds.' }),
    tell: (reply) => {
      if (reply.ok) return `This week we sold ${sold(reply.value)}.`
      return reply.error.includes('unknown')
        ? 'The report was interrupted while it ran, so I cannot say whether it finished, and I did not run it again by myself. Say "report" to start over.'
        : `There is no report: ${reply.error}.`
    },
  },
  {
    pattern: /\b(complain|complaint|broken|form|feedback)\b/i,
    call: () => ({ tool: 'complaint_form', args: {}, thought: 'I should ask what is wrong.' }),
    tell: (reply) =>
      reply.ok
        ? `Thank you. I wrote down: ${fieldOf(reply, 'what')}, ${fieldOf(reply, 'stars')} of 5 stars.`
        : `Then not: ${reply.error}.`,
  },
  {
    pattern: /\b(research|find out|why)\b/i,
    call: (text) => ({ tool: 'research', args: { question: text }, thought: 'A colleague can find that out.' }),
    tell: (reply) =>
      reply.ok ? `My colleague says: ${plain(reply.value)}` : `My colleague could not: ${reply.error}.`,
  },
  {
    pattern: /\b(arrived|parcel)\b/i,
    call: (text) => {
      const order = orderIn(text)
      return (
        order && { tool: 'parcel_arrived', args: { orderId: order.id }, thought: 'The return waits for this parcel.' }
      )
    },
    tell: (reply) =>
      reply.ok ? 'The return is finished; it is back on the shelf.' : `That return cannot continue: ${reply.error}`,
  },
  {
    pattern: /\b(return|send back)\b/i,
    call: (text) => {
      const order = orderIn(text)
      return order && { tool: 'start_return', args: { orderId: order.id }, thought: 'A return is a flow of its own.' }
    },
    tell: (reply) =>
      reply.ok
        ? `A return has begun, with a label. It now waits for the parcel, for weeks if need be. Say "the parcel of ${orderIdOf(reply)} arrived" when it is here.`
        : `No return was begun: ${reply.error}`,
  },
]

function orderIn(text: string) {
  const id = /\b\d{4}\b/.exec(text)?.[0]
  return id === undefined ? null : findOrder(id)
}

function fieldOf(reply: ToolReply, name: string): string {
  const value = reply.ok ? (reply.value as { readonly [key: string]: unknown } | null)?.[name] : undefined
  return value === undefined ? 'something' : String(value)
}

function orderIdOf(reply: ToolReply): string {
  const { tag } = Object(reply.ok ? reply.value : null) as { tag?: { orderId?: string } }
  return tag?.orderId ?? 'it'
}

function sold(value: unknown): string {
  return Object.entries(Object(value) as Record<string, unknown>)
    .map(([name, count]) => `${String(count)} ${name}`)
    .join(', ')
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const introduction = [
  'Hello! I am no language model but a short script that plays one, so that this runs without a key or a network.',
  'I understand: refund order 1234, report, complaint, research the switch, return order 1235, parcel of 1235 arrived, tell me a story.',
].join(' ')

const story = [
  'Once there was an agent that was killed in the middle of a sentence.',
  'Its process was gone, and with it the words that were not in the log yet.',
  'But every message, every call and every answer before them was in a log, and the log said what came next.',
  'So when it was started again, nothing had to be recovered: it folded its log, saw an open turn, and asked its model once more.',
  'The sentence began again, and this time it came to its end.',
  'The agent never learned that it had been killed, and nothing that mattered had happened twice.',
].join(' ')

/** The child agent's next step: notes, the supplier, an answer. */
function scriptedResearcher(prompt: LanguageModelV4Prompt): Exclude<Step, string> {
  const { replies } = readPrompt(prompt)
  if (!replies.has('read_notes')) return { calls: [{ tool: 'read_notes', args: {} }] }
  const supplier = replies.get('ask_supplier')
  if (!supplier) {
    const message = 'Which numbers of the reading lamp have the old switch?'
    return { calls: [{ tool: 'ask_supplier', args: { message } }] }
  }
  if (!supplier.ok)
    return { text: `The notes speak of a loose switch; the supplier was not asked (${supplier.error}).` }
  return { text: `The notes speak of a loose switch, and the supplier answers: ${String(supplier.value)}` }
}

/** A tool result, as the script reads it. */
type ToolReply = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: string }

/** The last user message, and the tool results since. */
type Asked = { readonly text: string; readonly replies: ReadonlyMap<string, ToolReply> }

/** The script decides by the prompt alone, so that it continues after a crash like a real model. */
function readPrompt(prompt: LanguageModelV4Prompt): Asked {
  const last = prompt.findLastIndex(({ role }) => role === 'user')
  const message = prompt[last]
  const text =
    message?.role === 'user' ? message.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ') : ''
  const replies = new Map<string, ToolReply>()
  for (const { role, content } of prompt.slice(last + 1)) {
    if (role !== 'tool') continue
    for (const part of content) if (part.type === 'tool-result') replies.set(part.toolName, replyOf(part.output))
  }
  return { text, replies }
}

function replyOf(output: { readonly type: string; readonly value?: unknown }): ToolReply {
  if (output.type.startsWith('error')) return { ok: false, error: String(output.value) }
  const value = (output.value ?? null) as Json
  // If a person changed the arguments, the result comes with a note about it.
  const isNoted = typeof value === 'object' && value !== null && 'note' in value && 'result' in value
  return { ok: true, value: isNoted ? (value['result'] as Json) : value }
}
