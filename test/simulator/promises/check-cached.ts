import { foldEvents } from '../../../src/log/fold-events.ts'
import { fsmStateOf, saysTheSame, statusOf } from '../../../src/log/fsm-state.ts'
import type { Store } from '../../../src/store/store.ts'

/** Whatever its owner has just written: lists say of a conversation what its log says. */
export async function checkCached(store: Store, id: string, seq: number): Promise<string[]> {
  const [record, log] = await Promise.all([store.getConversation(id), store.streamEvents(id, { before: seq + 1 })])
  const { fsmState: cached = null, status } = record ?? {}
  // Another process was quicker; then that is looked at.
  if (!record || record.lastSeq > seq) return []
  const expected = fsmStateOf(foldEvents(log))
  if (cached && saysTheSame(cached, expected) && status === statusOf(expected.state)) return []
  return [`at ${seq} lists say ${status}, ${JSON.stringify(cached)}; the log says ${JSON.stringify(expected)}`]
}
