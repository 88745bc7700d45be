import { checkSignal, readOptions } from '../../base/errors/read-options.ts'
import type { KeepAlive } from '../../engine/background-tasks.ts'
import type { FlowState, RecordedOutcome } from '../../engine/flow/flow-state.ts'
import type { LoadedFlow } from '../../engine/flow/load-flow.ts'
import type { HintWaiters } from '../../engine/live/log-poll.ts'
import { weightOf } from '../../log/abridge.ts'
import type { FlowOutcome, LogEvent } from '../../log/events.ts'
import { checkWhole, readRange } from '../../store/checks.ts'
import { isSameLog, readBounds } from '../../store/log-pages.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { EventPlace, EventRange, TenantStore } from '../../store/store.ts'
import type { FlowRecord, RecordOptions } from '../flow-session.ts'
import { pageBytes } from './history.ts'

/** A page of a record: shortened outcomes on it are read again in full. */
export async function readRecord(
  store: TenantStore,
  id: string,
  { flow, version, input, outcomes: all }: FlowState,
  options?: RecordOptions,
): Promise<FlowRecord> {
  const { after = 0, maxBytes = pageBytes } = readOptions('options', options, ['after', 'maxBytes'])
  checkWhole('after', after, 0)
  checkWhole('maxBytes', maxBytes, 1)
  const outcomes: FlowOutcome[] = []
  let [last, weight] = [after, 0]
  for (const recorded of all.filter(({ seq }) => seq > after)) {
    const outcome = await wholeOutcome(store, id, recorded)
    weight += weightOf(outcome)
    if (outcomes.length > 0 && weight > maxBytes) return { flow, version, input, outcomes, after: last }
    outcomes.push(outcome)
    last = recorded.seq
  }
  return { flow, version, input, outcomes }
}

async function wholeOutcome(
  store: TenantStore,
  id: string,
  { seq, at: _, leftOut, ...outcome }: RecordedOutcome,
): Promise<FlowOutcome> {
  if (!leftOut) return outcome
  const [event] = await store.streamEvents(id, { after: seq - 1, before: seq + 1 })
  return event?.type === 'flow_outcome' ? event.content : outcome
}

/** A page of the log: onwards from `after` where it is given, else the newest. */
export async function readEvents(store: TenantStore, id: string, range?: EventRange): Promise<LogEvent[]> {
  return store.streamEvents(id, pageOf(readRange(range)))
}

/** With the defaults of a page written in. */
function pageOf(range: EventRange): EventRange {
  return { maxBytes: pageBytes, keep: range.after === undefined ? 'newest' : 'oldest', ...range }
}

/** From where a session is watched, and how long. */
export type WatchSessionOptions = {
  /** The `seq` of the last event that is known already. Default: 0, from the first event. */
  readonly after?: number
  /** Ends the watching. */
  readonly signal?: AbortSignal
}

type Watched = {
  readonly ref: ConversationRef
  readonly store: TenantStore
  /** Throws where there is no such session. */
  readonly load: () => Promise<LoadedFlow>
  readonly hints: HintWaiters
  readonly keepAlive: KeepAlive
}

/** The events of a session, those in its log first, then each as it is committed. A page of the log at a time is in memory, however slowly they are taken. */
export async function* watchSession(
  { ref, store, load, hints: waiters, keepAlive }: Watched,
  options?: WatchSessionOptions,
): AsyncGenerator<LogEvent, void, void> {
  const { after = 0, signal } = readOptions('options', options, ['after', 'signal'])
  checkWhole('after', after, 0)
  if (signal !== undefined) checkSignal('signal', signal)
  await load()
  const letProcessEnd = keepAlive.hold()
  const hints = waiters.listen(ref, signal)
  let last: EventPlace | null = null
  try {
    while (!signal?.aborted) {
      const from: number = last ? last.seq - 1 : Math.max(after - 1, 0)
      const page = await store.pageEvents(ref.id, { ...readBounds, after: from, keep: 'oldest' })
      // Deleted, and another log may have its name.
      if (!page.first || (last && !isSameLog(last, page))) return
      for (const event of page.events) {
        if (event.seq > (last?.seq ?? after)) yield event
        if (event.type === 'flow_ended' || signal?.aborted) return
      }
      last = page.last ?? last
      if (!page.hasMore)
        await hints.next({ seq: page.last!.seq, at: page.last!.at, status: null }).catch(rethrowUnless(signal))
    }
  } finally {
    hints.stop()
    letProcessEnd()
  }
}

/** The signal ends the watching in good order. */
function rethrowUnless(signal: AbortSignal | undefined): (error: unknown) => void {
  return (error) => {
    if (!signal?.aborted) throw error
  }
}
