import type { ConversationState } from '../../src/log/state.ts'
import { renderContext } from '../../src/prompt/render/render-context.ts'

const model = { provider: 'openai', modelId: 'gpt-5' }

/** Adds the calls that were started or answered, or handed to a page or a child agent, as far as the state knows them. */
export function addActed(acted: Set<string>, { turns }: ConversationState): void {
  for (const { attempts, rounds, callId, ...call } of turns.flatMap(({ calls }) => calls)) {
    const isAnswered = rounds.some(({ resolution }) => ['resolved', 'denied'].includes(resolution?.status ?? ''))
    const isElsewhere = rounds.some(({ kind }) => kind === 'client_exec' || kind === 'sub_agent')
    // A restored call has no round of the page or the child agent that had it; it says so by not being `rerun`.
    const isRestored = call.restoredFrom !== undefined && rounds.length === 0 && call.ifInterrupted !== 'rerun'
    const wasElsewhere = isRestored && (call.executor === 'client' || call.executor === 'agent')
    if (attempts > 0 || isAnswered || isElsewhere || wasElsewhere) acted.add(callId)
  }
}

/** What is wrong with what a state keeps of withdrawn turns: each call that did something is of a shown turn, or among those that a shown turn lists. */
export function withdrawnProblems(acted: ReadonlySet<string>, state: ConversationState): string[] {
  const shown = new Set(state.turns.flatMap(({ calls }) => calls.map(({ callId }) => callId)))
  const replaced = state.turns.flatMap((turn) => turn.replaced ?? [])
  const kept = [...replaced, ...(state.withdrawn ? [state.withdrawn] : [])].flatMap(({ calls }) => calls)
  const listed = new Set(kept.map(({ callId }) => callId))
  const problems = [...acted].flatMap((callId) =>
    shown.has(callId) || listed.has(callId) ? [] : [`call '${callId}' is neither shown nor listed`],
  )
  const own = kept.filter(
    ({ executor, providerCallId, callId }) => executor !== 'provider' || providerCallId !== callId,
  )
  for (const { callId } of own) if (!acted.has(callId)) problems.push(`call '${callId}' is listed and did nothing`)
  const told = JSON.stringify(renderContext({ ...state, notes: [] }, { system: '', model }))
  for (const { calls } of replaced) {
    if (calls.length > 0 && !told.includes('its messages are withdrawn'))
      problems.push('what was done is not in the prompt')
  }
  return problems
}
