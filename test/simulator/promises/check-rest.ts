import { isDeepStrictEqual } from 'node:util'
import type { LogEvent } from '../../../src/log/events.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import { type FsmState, fsmStateOf } from '../../../src/log/fsm-state.ts'
import type { Store } from '../../../src/store/store.ts'

/** A conversation that came to rest costs a row: nothing is pending, due or held, and the cached state is that of the log. */
export async function checkRest(store: Store, id: string, log: readonly LogEvent[]): Promise<string[]> {
  const problems: string[] = []
  const record = await store.getConversation(id)
  const cached = record?.fsmState ?? null
  const folded = fsmStateOf(foldEvents(log.slice(0, cached?.lastSeq)))
  if (!isDeepStrictEqual(withoutTokens(cached), withoutTokens(folded)))
    problems.push(`the cached state is ${text(cached)}; the log says ${text(folded)}`)
  if (!isUpToDate(cached, log))
    problems.push(`the cached state is of ${cached?.lastSeq}; the log goes to ${log.length}`)
  if (record?.status !== 'idle') problems.push(`it is '${record?.status}', not idle`)
  const pending = await store.pendingToolCalls(id)
  if (pending.length > 0) problems.push(`${pending.length} of its calls are still pending`)
  const agents = record?.agent ? [record.agent] : []
  const due = await store.dueWork({ agents, limit: 1_000 })
  if (due.some((ref) => ref.id === id)) problems.push('it is still due')
  return problems
}

/** The tokens are those of the newest call in memory. After a summary, an owner does not have the turns before it. */
function withoutTokens(state: FsmState | null): Partial<FsmState> | null {
  if (!state) return null
  const { tokens: _, ...others } = state
  return others
}

/** No process has to come back to it. */
export async function isParked(store: Store, id: string): Promise<boolean> {
  return await store.upkeep!.snapshot(async (reader) => {
    const row = await reader.conversation('default', id)
    return row?.wakeAt === null && row.leaseEpoch === null
  })
}

/** A title comes when it comes, and changes nothing about the next step. */
export function isUpToDate(cached: FsmState | null, log: readonly LogEvent[]): boolean {
  return (
    cached !== null &&
    log.slice(cached.lastSeq).every(({ type }) => ['titled', 'note', 'deadline_moved', 'state_set'].includes(type))
  )
}

function text(state: FsmState | null): string {
  return JSON.stringify(state)
}
