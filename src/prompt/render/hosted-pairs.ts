import type { AssistantPart, ModelRef } from '../../log/events.ts'
import type { CallIds } from './call-ids.ts'

export const noPairs: ReadonlySet<string> = new Set()

/** The ids of the calls that the model's host ran and that can go back to it: one call, one result after it, an id of their own. */
export function hostedPairs(
  parts: readonly AssistantPart[],
  { model, callIds }: { readonly model: ModelRef; readonly callIds: CallIds },
): ReadonlySet<string> {
  if (!parts.some((part) => part.type === 'provider_call') || !takesHostedCalls(model)) return noPairs
  const pairs = new Set<string>()
  for (const part of parts) {
    if (part.type !== 'provider_call') continue
    const { providerCallId, name } = part
    const [first, result, ...more] = parts.filter((other) => isAbout(other, providerCallId))
    const isPair = first === part && result?.type === 'provider_result' && more.length === 0
    // A result that could not be kept is null, and no encoder takes that.
    if (isPair && result.name === name && result.result !== null && callIds.claim(providerCallId))
      pairs.add(providerCallId)
  }
  return pairs
}

function isAbout(part: AssistantPart, providerCallId: string): boolean {
  return (part.type === 'provider_call' || part.type === 'provider_result') && part.providerCallId === providerCallId
}

/** Chat-style APIs have no place for a call with its result inside an answer; their encoders make an unanswered call of it. */
function takesHostedCalls({ provider }: ModelRef): boolean {
  return provider.includes('anthropic') || !/\.chat$|^google/.test(provider)
}
