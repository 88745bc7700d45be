import { isRecord, textOf } from '../base/untrusted.ts'
import type { Usage } from '../log/events.ts'
import type { DraftFinish } from './message-draft.ts'

/** The `finish` part of a stream. Both specifications have the same shape. */
export function readFinish(part: { readonly [key: string]: unknown }): DraftFinish {
  const { finishReason } = part
  const { unified, raw } = isRecord(finishReason) ? finishReason : { unified: finishReason, raw: null }
  return { reason: textOf(unified) ?? 'other', raw: textOf(raw), usage: readUsage(part['usage']) }
}

export function readUsage(usage: unknown): Usage {
  if (!isRecord(usage)) return {}
  const input = totals(usage['inputTokens'])
  const output = totals(usage['outputTokens'])
  const read: { -readonly [Counter in keyof Usage]: Usage[Counter] } = {}
  const take = (counter: keyof Usage, tokens: unknown): void => {
    if (typeof tokens !== 'number' || !(tokens >= 0)) return
    // Some providers estimate, and the log counts whole tokens.
    const whole = Math.ceil(tokens)
    if (Number.isSafeInteger(whole)) read[counter] = whole
  }
  take('inputTokens', input['total'])
  take('outputTokens', output['total'])
  take('cacheReadTokens', input['cacheRead'])
  take('cacheWriteTokens', input['cacheWrite'])
  take('reasoningTokens', output['reasoning'])
  return read
}

/** A bare number is taken as the total. */
function totals(tokens: unknown): { readonly [key: string]: unknown } {
  return isRecord(tokens) ? tokens : { total: tokens }
}
