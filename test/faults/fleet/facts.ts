import { type FlowState, foldFlow } from '../../../src/engine/flow/flow-state.ts'
import type { LogEvent } from '../../../src/log/events.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import type { ConversationState } from '../../../src/log/state.ts'
import type { StoredJob } from '../../../src/store/jobs.ts'
import type { ConversationRecord } from '../../../src/store/records.ts'
import { type SteeringAct, steeringOf } from '../../../src/store/steering.ts'
import type { Store } from '../../../src/store/store.ts'
import type { History } from './history.ts'
import type { LeaseAudit } from './lease-audit.ts'

/** A log as it stood in the end, without the events that only the later build knows; they change nothing. */
export type Kept = {
  readonly record: Pick<
    ConversationRecord,
    'id' | 'agent' | 'status' | 'parent' | 'lastSeq' | 'fsmState' | 'quarantine'
  >
  readonly log: readonly LogEvent[]
  /** All of it, as `seq type at`. */
  readonly shown: readonly string[]
  readonly state: ConversationState
  /** Of a session; null for a conversation. */
  readonly flow: FlowState | null
}

/** Everything that the rules judge. */
export type Facts = {
  readonly history: History
  readonly kept: ReadonlyMap<string, Kept>
  readonly leases: LeaseAudit
  readonly acts: readonly SteeringAct[]
  readonly jobs: readonly StoredJob[]
}

const pageSize = 500

export async function readKept(store: Store): Promise<Map<string, Kept>> {
  const kept = new Map<string, Kept>()
  for (let before: string | undefined; ; ) {
    const page = await store.listConversations({ limit: pageSize, ...(before === undefined ? {} : { before }) })
    for (const record of page) kept.set(record.id, keptOf(record, await store.streamEvents(record.id)))
    if (page.length < pageSize) return kept
    before = page.at(-1)!.id
  }
}

/** Every act, the newest first. */
export async function readActs(store: Store): Promise<SteeringAct[]> {
  const acts: SteeringAct[] = []
  for (let before: number | undefined; ; before = acts.at(-1)!.id) {
    const page = await steeringOf(store).acts({ limit: pageSize, ...(before === undefined ? {} : { before }) })
    acts.push(...page)
    if (page.length < pageSize) return acts
  }
}

export function keptOf(record: Kept['record'], whole: readonly LogEvent[]): Kept {
  const log = whole
    .filter(({ type }) => String(type) !== 'fleet_mark')
    .map((event, index) => ({ ...event, seq: index + 1 }))
  const isSession = log[0]?.type === 'flow_started'
  const shown = whole.map(({ seq, type, at }) => `${seq} ${type} ${at}`)
  return { record, log, shown, state: foldEvents(isSession ? [] : log), flow: isSession ? foldFlow(log) : null }
}
