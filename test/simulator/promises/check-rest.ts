import type { LogEvent } from '../../../src/log/events.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import { fsmStateOf } from '../../../src/log/fsm-state.ts'
import type { Store } from '../../../src/store/store.ts'

/** A conversation that came to rest costs a row: nothing is pending, due or held, and the cached state is that of the log. */
export async function checkRest(store: Store, id: string, log: readonly LogEvent[]): Promise<string[]> {
  const problems: string[] = []
  const record = await store.getConversation(id)
  const cached = JSON.stringify(record?.fsmState)
  const folded = JSON.stringify(fsmStateOf(foldEvents(log)))
  if (cached !== folded) problems.push(`the cached state is ${cached}; the log says ${folded}`)
  if (record?.status !== 'idle') problems.push(`it is '${record?.status}', not idle`)
  const pending = await store.pendingToolCalls(id)
  if (pending.length > 0) problems.push(`${pending.length} of its calls are still pending`)
  const agents = record?.agent ? [record.agent] : []
  const due = await store.dueWork({ agents, limit: 1_000 })
  if (due.some((ref) => ref.id === id)) problems.push('it is still due')
  return problems
}
