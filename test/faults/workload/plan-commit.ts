import type { JsonObject } from '../../../src/base/json.ts'
import type { LogEvent, NewEvent } from '../../../src/log/events.ts'
import type { FsmState } from '../../../src/log/fsm-state.ts'
import type { Change } from '../../../src/store/change.ts'
import type { TenantStore } from '../../../src/store/store.ts'
import type { SeededRandom } from '../harness/seeded-random.ts'

/** A change with the name it can be found by: every event carries it. */
export type PlannedCommit = {
  readonly commit: string
  readonly conversation: string
  readonly change: Change
  /** What the store must answer. */
  readonly expects: 'ok' | 'seq' | 'stale'
}

/** A conversation with one writer, as that writer knows it. */
export type Lane = {
  readonly conversation: string
  readonly lastSeq: number
  /** Of the lease its writer holds; null before it was taken. */
  readonly epoch: number | null
  readonly openCalls: readonly string[]
  readonly endedCalls: readonly string[]
}

export function newLane(conversation: string): Lane {
  return { conversation, lastSeq: 0, epoch: null, openCalls: [], endedCalls: [] }
}

/** The lane as an owner has it, with a lease that outlasts every run. */
export async function owned(store: TenantStore, lane: Lane): Promise<Lane> {
  if (lane.epoch !== null || lane.lastSeq === 0) return lane
  const lease = await store.acquireLease(lane.conversation, lane.conversation, 24 * 60 * 60 * 1_000)
  if (!lease) throw new Error(`another process has the lease of ${lane.conversation}`)
  return { ...lane, epoch: lease.epoch }
}

/** One of the changes a conversation's owner makes: messages, suspensions with their rows, resolutions, and now and then one that must be refused. */
export function planLaneCommit(random: SeededRandom, lane: Lane, commit: string, padBytes: number): PlannedCommit {
  const named = { commit, conversation: lane.conversation }
  const pad = 'x'.repeat(random.int(0, padBytes))
  const kinds = ['messages', 'messages', 'suspend', 'suspend', 'resolve', 'resolve', 'outdated', 'late'] as const
  const kind = lane.lastSeq === 0 ? 'messages' : random.pick(kinds)
  if (kind === 'outdated') {
    const change = { events: messages(commit, 2, pad), expectedSeq: lane.lastSeq - 1 }
    return { ...named, change, expects: 'seq' }
  }
  if (kind === 'late' && lane.endedCalls.length > 0) {
    return { ...named, change: resolution(commit, random.pick(lane.endedCalls)), expects: 'stale' }
  }
  const once = random.chance(0.5) ? { key: commit, digest: commit } : {}
  const decided = { expectedSeq: lane.lastSeq, ...once }
  // Suspensions are what an owner writes: while calls are pending, no one else may.
  if (kind === 'suspend' && lane.epoch !== null) {
    const change = { ...suspension(commit, random.int(1, 3), pad), ...decided, epoch: lane.epoch }
    return { ...named, change: withState(commit, lane.lastSeq, change), expects: 'ok' }
  }
  if (kind === 'resolve' && lane.openCalls.length > 0) {
    const change = { ...resolution(commit, random.pick(lane.openCalls)), ...decided }
    return { ...named, change: withState(commit, lane.lastSeq, change), expects: 'ok' }
  }
  const change = { events: messages(commit, random.int(1, 4), pad), ...decided }
  return { ...named, change: random.chance(0.5) ? withState(commit, lane.lastSeq, change) : change, expects: 'ok' }
}

/** A message to a conversation that many write to at once, decided on nothing. */
export function planSharedCommit(
  random: SeededRandom,
  conversation: string,
  commit: string,
  padBytes: number,
): PlannedCommit {
  const once = random.chance(0.5) ? { key: commit, digest: commit } : {}
  const events = messages(commit, random.int(1, 3), 'x'.repeat(random.int(0, padBytes)))
  return { commit, conversation, change: { events, ...once }, expects: 'ok' }
}

/** What the lane's writer knows after the store has accepted a commit. */
export function advance(lane: Lane, { change }: PlannedCommit): Lane {
  const opened = (change.calls ?? []).map((call) => call.id)
  const ended = (change.resolve ?? []).map((call) => call.callId)
  return {
    ...lane,
    lastSeq: lane.lastSeq + change.events.length,
    openCalls: [...lane.openCalls.filter((id) => !ended.includes(id)), ...opened],
    endedCalls: [...lane.endedCalls, ...ended],
  }
}

/** The commit an event came with; null when it is none of ours. */
export function commitOf(event: LogEvent): string | null {
  const mark = (value: unknown): string | null => {
    const found = (value as JsonObject | null)?.['commit']
    return typeof found === 'string' ? found : null
  }
  switch (event.type) {
    case 'user_msg':
      return mark(event.content.options)
    case 'tool_call':
      return mark(event.content.args)
    case 'suspension':
      return mark(event.content.prompt)
    case 'resolution':
      return mark(event.content.value)
    case 'titled':
      return event.content.title
    default:
      return null
  }
}

function messages(commit: string, count: number, pad: string): NewEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    type: 'user_msg',
    content: {
      turnId: `${commit}/${index}`,
      message: { parts: [{ type: 'text', text: pad }] },
      options: { commit, index, of: count },
      who: 'writer',
    },
  }))
}

function suspension(commit: string, count: number, pad: string): Pick<Change, 'events' | 'calls'> {
  const callIds = Array.from({ length: count }, (_, index) => `${commit}/call${index}`)
  const events = callIds.flatMap((callId): NewEvent[] => [
    {
      type: 'tool_call',
      content: {
        turnId: commit,
        callId,
        providerCallId: callId,
        name: 'refund',
        args: { commit, pad },
        executor: 'server',
        gated: true,
        ifInterrupted: 'report',
        timeoutMs: null,
        expiresInMs: null,
      },
    },
    {
      type: 'suspension',
      content: { callId, round: 1, kind: 'approval', prompt: { commit }, schema: true, expiresInMs: null },
    },
  ])
  const calls = callIds.map((id) => ({ id, name: 'refund', args: { commit, pad }, prompt: { commit } }))
  return { events, calls }
}

function resolution(commit: string, callId: string): Pick<Change, 'events' | 'resolve'> {
  const value = { commit }
  return {
    events: [
      { type: 'resolution', content: { callId, round: 1, kind: 'approval', status: 'resolved', value, who: 'writer' } },
    ],
    resolve: [{ callId, round: 1, status: 'resolved', result: value }],
  }
}

/** The cached state and the title name the commit too, so that a change without them shows. */
function withState(commit: string, lastSeq: number, change: Change): Change {
  const events: NewEvent[] = [...change.events, { type: 'titled', content: { title: commit } }]
  const fsmState: FsmState = { state: 'running', pending: [commit], lastSeq: lastSeq + events.length }
  return { ...change, events, fsmState }
}
