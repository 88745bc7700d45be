import { readOptions } from '../../base/errors/read-options.ts'
import type { FlowState, RecordedOutcome } from '../../engine/flow/flow-state.ts'
import { weightOf } from '../../log/abridge.ts'
import type { FlowOutcome, LogEvent } from '../../log/events.ts'
import { checkWhole, readRange } from '../../store/checks.ts'
import type { EventRange, TenantStore } from '../../store/store.ts'
import type { FlowRecord, RecordOptions } from '../flow-session.ts'
import { pageBytes } from './history.ts'

/** A page of a record: what was left out of the outcomes on it is read again. */
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
