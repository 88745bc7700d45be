import { isSameJson, type Json } from '../base/json.ts'
import { callEnd, effectiveArgs } from './call-phase.ts'
import type { AssistantPart, DoneBefore } from './events.ts'
import type { AssistantItem, CallState, ConversationState, TurnState } from './state.ts'

/** What a turn replaces. The words are withdrawn; what the calls did stays. */
export type Replaced = {
  /** Where the first variant began: the same for all variants. */
  readonly fromSeq: number
  /** How many variants there are, with this one. */
  readonly variants: number
  /** Where the previous variant ends. A fork at that place continues from it. */
  readonly previousSeq: number
  /** The calls of the withdrawn turns that were started or answered, oldest first, also those that the withdrawn turns replaced. */
  readonly calls: readonly CallState[]
}

/**
 * What the turn after a `superseded` at `seq` replaces. `before`: what an earlier mark withdrew, where no turn came after it. A state that begins later in the
 * log lacks the first of the turns, and so cannot tell how many variants there were before.
 */
export function replacedBy(
  turns: readonly TurnState[],
  { fromSeq, seq }: { readonly fromSeq: number; readonly seq: number },
  before: Replaced | undefined,
): Replaced {
  const first = turns.find((turn) => beginsAt(turn, fromSeq))
  const calls = turns.flatMap((turn) => [...(turn.replaced?.calls ?? []), ...actedIn(turn)])
  return {
    fromSeq: first ? placeOf(first) : fromSeq,
    variants: (first?.replaced?.variants ?? 1) + 1,
    previousSeq: seq - 1,
    calls: before ? [...before.calls, ...calls] : calls,
  }
}

/** Whether a turn, or the first variant of it, begins there. */
export function beginsAt(turn: Pick<TurnState, 'firstSeq' | 'replaced'>, seq: number): boolean {
  return turn.firstSeq === seq || placeOf(turn) === seq
}

/** Where the variants of a turn begin: the `fromSeq` of the `superseded` that withdraws it. */
export function placeOf({ firstSeq, replaced }: Pick<TurnState, 'firstSeq' | 'replaced'>): number {
  return replaced?.fromSeq ?? firstSeq
}

/** Whether turns were withdrawn since an earlier state of the same log. Costs as much as there are turns since. */
export function hasReplaced(state: ConversationState, earlier: ConversationState): boolean {
  if (state.withdrawn !== earlier.withdrawn) return true
  for (let index = state.turns.length - 1; index >= 0; index--) {
    const { firstSeq, replaced } = state.turns[index]!
    if (firstSeq <= earlier.lastSeq) return false
    if (replaced) return true
  }
  return false
}

function actedIn({ items, calls }: TurnState): CallState[] {
  const own = calls.filter((call) => hasActed(call) || isAnswered(call))
  const provided = items.flatMap((item) => (item.type === 'assistant' ? providerCalls(item) : []))
  return provided.length === 0 ? own : [...own, ...provided].sort((one, other) => one.seq - other.seq)
}

/** Whether a call may have had an effect: it was started here, in a page, or in a child agent. */
export function hasActed(call: CallState): boolean {
  const { attempts, rounds } = call
  return attempts > 0 || rounds.some(({ kind }) => kind === 'client_exec' || kind === 'sub_agent') || actedBefore(call)
}

/** Whether a page or a child agent had it before its log was restored. A restored call that neither had says `rerun`. */
function actedBefore({ restoredFrom, executor, ifInterrupted, rounds }: CallState): boolean {
  const isElsewhere = executor === 'client' || executor === 'agent'
  return isElsewhere && restoredFrom !== undefined && rounds.length === 0 && ifInterrupted !== 'rerun'
}

function isAnswered({ rounds }: CallState): boolean {
  return rounds.some(({ resolution }) => resolution?.status === 'resolved' || resolution?.status === 'denied')
}

/** The calls of these turns, and of those that they replace, that may have had an effect and must not be repeated without being asked to. */
export function unrepeatable(turns: readonly TurnState[]): CallState[] {
  const calls = turns.flatMap((turn) => [...(turn.replaced?.calls ?? []), ...turn.calls])
  return calls.filter((call) => hasActed(call) && call.ifInterrupted !== 'rerun' && call.executor !== 'provider')
}

/** The tools that a model's provider ran for a message, as calls. */
function providerCalls({ parts, seq }: AssistantItem): CallState[] {
  return parts.flatMap((part) => (part.type === 'provider_call' ? [asCall(part, parts, seq)] : []))
}

function asCall(
  { providerCallId, name, args }: Extract<AssistantPart, { type: 'provider_call' }>,
  parts: readonly AssistantPart[],
  seq: number,
): CallState {
  const found = parts.find((part) => part.type === 'provider_result' && part.providerCallId === providerCallId)
  const { result, isError } = { result: null, isError: undefined, ...found } as { result: Json; isError?: boolean }
  const error = typeof result === 'string' ? result : JSON.stringify(result)
  const end = isError ? { ok: false as const, error } : { ok: true as const, result }
  const decisions = { gated: false, ifInterrupted: 'rerun', timeoutMs: null, expiresInMs: null } as const
  return {
    ...{ callId: providerCallId, providerCallId, name, args, executor: 'provider', ...decisions },
    ...{ seq, attempts: 1, startedSeq: seq, rounds: [] },
    result: found ? { ...end, seq } : null,
  }
}

/** How people read that the same was done before. */
export const doneBeforeText: Readonly<Record<DoneBefore['outcome'], string>> = {
  done: 'The same was done in the variant before this one.',
  failed: 'The same was tried in the variant before this one, and failed.',
  unknown: 'The same was started in the variant before this one, and may have taken effect.',
}

/** The newest call that a turn replaces and that did the same, and how it ended: the same tool ran with the same arguments. Null where there is none. */
export function doneBefore(turn: Pick<TurnState, 'replaced'>, call: CallState): DoneBefore | null {
  const before = turn.replaced ? sameCallIn(turn.replaced, call) : undefined
  if (!before) return null
  const end = callEnd(before)
  return { callId: before.callId, outcome: end?.ok ? 'done' : end && !end.outcome ? 'failed' : 'unknown' }
}

function sameCallIn({ calls }: Replaced, call: CallState): CallState | undefined {
  const args = effectiveArgs(call)
  const isSame = (earlier: CallState): boolean =>
    earlier.name === call.name && hasActed(earlier) && isSameJson(effectiveArgs(earlier), args)
  return calls.findLast(isSame)
}
