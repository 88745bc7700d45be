import { leftOutOf } from '../../log/abridge.ts'
import type { LogEvent } from '../../log/events.ts'
import { foldCall, isCallEvent, newCall } from '../../log/fold-call.ts'
import type { CallState } from '../../log/state.ts'
import type { TenantStore } from '../../store/store.ts'

/** A call with all that was left out of it: nobody decides on half of its arguments. Read from its own events. */
export async function wholeCall(store: TenantStore, id: string, call: CallState): Promise<CallState> {
  if (leftOutOf(call) === 0) return call
  const opened = await eventAt(store, id, call.seq)
  if (opened?.type !== 'tool_call') return call
  let whole = newCall(opened)
  for (const seq of laterSeqs(call)) {
    const event = await eventAt(store, id, seq)
    if (event && isCallEvent(event)) whole = foldCall(whole, event)
  }
  return whole
}

/** Of what changed it since, in the order of the log. */
function laterSeqs({ startedSeq, rounds, result }: CallState): number[] {
  const asked = rounds.flatMap(({ seq, resolution }) => [seq, resolution?.seq ?? 0])
  return [startedSeq, ...asked, result?.seq ?? 0].filter((seq) => seq > 0).sort((one, other) => one - other)
}

async function eventAt(store: TenantStore, id: string, seq: number): Promise<LogEvent | undefined> {
  const [event] = await store.streamEvents(id, { after: seq - 1, before: seq + 1 })
  return event
}
