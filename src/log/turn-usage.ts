import type { Json } from '../base/json.ts'
import type { Usage } from './events.ts'
import type { TurnState } from './state.ts'

const counters = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const

/** What a turn has used: its own messages, and its child agents that have ended. */
export function usageOf({ items, calls, leftOut }: Pick<TurnState, 'items' | 'calls' | 'leftOut'>): Usage {
  const total: { -readonly [Counter in keyof Usage]: Usage[Counter] } = { ...leftOut?.usage }
  const add = (usage: Usage): void => {
    for (const counter of counters) {
      const tokens = usage[counter]
      if (tokens !== undefined) total[counter] = (total[counter] ?? 0) + tokens
    }
  }
  for (const item of items) if (item.type === 'assistant') add(item.usage)
  for (const call of calls) {
    for (const round of call.rounds) if (round.kind === 'sub_agent') add(usageIn(round.resolution?.value ?? null))
  }
  return total
}

export function tokensUsed(turn: TurnState): number {
  const { inputTokens = 0, outputTokens = 0 } = usageOf(turn)
  return inputTokens + outputTokens
}

/** A child's end says what it used; others may have ended the call, and then nothing does. */
function usageIn(value: Json): Usage {
  const usage = isObject(value) ? value['usage'] : null
  if (!isObject(usage)) return {}
  const counts = counters.filter((counter) => Number.isSafeInteger(usage[counter]) && (usage[counter] as number) >= 0)
  return Object.fromEntries(counts.map((counter) => [counter, usage[counter]])) as Usage
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
