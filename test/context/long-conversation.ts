import { parseArgs } from 'node:util'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { silentLogger } from '../../src/base/logger.ts'
import { gptTokenizer } from '../../src/prompt/budget/count-tokens.ts'
import { withoutBreakpoint } from '../../src/prompt/render/render-context.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { busyAgent } from './busy-agent.ts'

export type LongConversation = {
  readonly program: 'long-conversation'
  readonly ok: boolean
  readonly turns: number
  readonly calls: number
  /** The working budget; reducing begins where it has only the reserve for injections left. */
  readonly budget: number
  readonly reducedAt: number
  /** By OpenAI's tokenizer, while sizes are estimated and corrected. */
  readonly mostTokensPerCall: number
  readonly inputTokens: number
  /** Calls whose prompt did not begin with the whole of the one before. */
  readonly reductions: number
  /** Of all input tokens, those of messages that are byte for byte how the previous prompt began. */
  readonly prefixShare: number
  readonly seconds: number
}

const most = { reductions: 10, prefixShare: 0.9 }
const tokensAround = 4

/** A tool-heavy conversation of so many turns with the default settings. */
export async function longConversation(turns: number): Promise<LongConversation> {
  const begun = performance.now()
  const tokenizer = await gptTokenizer()
  let calls = 0
  let inputTokens = 0
  let prefixTokens = 0
  let mostTokensPerCall = 0
  let reductions = 0
  let before: readonly string[] = []

  const countTokens = (prompt: LanguageModelV4Prompt): number =>
    prompt.reduce((total, message) => total + tokensAround + tokenizer(textOf(message)), 0)
  const onCall = (prompt: LanguageModelV4Prompt): void => {
    const now = prompt.map((message) => JSON.stringify(withoutBreakpoint(message)))
    const differs = now.findIndex((text, index) => text !== before[index])
    const common = differs < 0 ? now.length : differs
    const tokens = countTokens(prompt)
    calls += 1
    inputTokens += tokens
    prefixTokens += countTokens(prompt.slice(0, common))
    mostTokensPerCall = Math.max(mostTokensPerCall, tokens)
    if (common < before.length) reductions += 1
    before = now
  }

  const agent = busyAgent({ countTokens, onCall })
  const store = memoryStore({ logger: silentLogger })
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger })
  const chat = runtime.conversation('long', { agent: 'support' })
  for (let turn = 1; turn <= turns; turn++) {
    const outcome = await (await chat.send(`Ticket ${turn}: where is my order?`)).outcome()
    if (outcome.status !== 'completed') throw new Error(`turn ${turn} is ${JSON.stringify(outcome)}`)
  }
  await runtime.close()
  await store.close()

  const { workingBudget: budget, injectionReserve } = agent.context
  const reducedAt = budget - injectionReserve
  const prefixShare = Math.round((prefixTokens / inputTokens) * 10_000) / 10_000
  const ok = mostTokensPerCall <= budget && reductions <= most.reductions && prefixShare >= most.prefixShare
  const seconds = Math.round((performance.now() - begun) / 100) / 10
  return {
    program: 'long-conversation',
    ok,
    turns,
    calls,
    budget,
    reducedAt,
    mostTokensPerCall,
    inputTokens,
    reductions,
    prefixShare,
    seconds,
  }
}

/** What of a message a model reads. */
function textOf({ content }: LanguageModelV4Prompt[number]): string {
  if (typeof content === 'string') return content
  const texts = content.map((part) => {
    if (part.type === 'text') return part.text
    if (part.type === 'tool-call') return `${part.toolName} ${JSON.stringify(part.input)}`
    return part.type === 'tool-result' ? JSON.stringify((part.output as { value?: unknown }).value) : ''
  })
  return texts.join('\n')
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { turns: { type: 'string' } } })
  const result = await longConversation(Number(values.turns ?? 500))
  process.stdout.write(`${JSON.stringify(result)}\n`)
  process.exitCode = result.ok ? 0 : 1
}
