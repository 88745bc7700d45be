import { isDeepStrictEqual } from 'node:util'
import type { LogEvent } from '../../../src/log/events.ts'
import type { ToolCall } from '../../../src/store/records.ts'
import type { TenantStore } from '../../../src/store/store.ts'
import type { Entry, Ledger } from './ledger.ts'
import { commitOf } from './plan-commit.ts'

export type LedgerCheck = {
  readonly violations: readonly string[]
  /** Names of the commits that are in the store. */
  readonly present: ReadonlySet<string>
}

/**
 * Compares the store with what was heard: what was acknowledged is there once and whole, what was refused is not, what was not answered is
 * there whole or not at all; events, call rows, cached state and title alike.
 */
export async function checkLedger(store: TenantStore, ledger: Ledger): Promise<LedgerCheck> {
  const violations: string[] = []
  const present = new Set<string>()
  for (const [conversation, entries] of byConversation(ledger)) {
    const runs = runsOf(await store.streamEvents(conversation), violations)
    for (const { commit, events } of runs) {
      if (commit !== null && present.has(commit)) violations.push(`${commit} is in the log twice`)
      const entry = commit === null ? undefined : entries.get(commit)
      if (!entry) violations.push(`event ${events[0]?.seq} of ${conversation} was never written by anyone`)
      else if (!isWhole(entry, events)) violations.push(`${commit} is not in the log as it was sent`)
      if (commit !== null) present.add(commit)
    }
    const lastSeqs = new Map(runs.map(({ commit, events }) => [commit, events.at(-1)!.seq]))
    for (const entry of entries.values()) violations.push(...checkAnswers(entry, lastSeqs.get(entry.planned.commit)))
    violations.push(...(await checkCalls(store, conversation, entries, present)))
    violations.push(...(await checkRecord(store, conversation, entries, runs)))
  }
  return { violations, present }
}

type Run = { readonly commit: string | null; readonly events: LogEvent[] }

function byConversation(ledger: Ledger): Map<string, Map<string, Entry>> {
  const conversations = new Map<string, Map<string, Entry>>()
  for (const [commit, entry] of ledger.entries) {
    const { conversation } = entry.planned
    const entries = conversations.get(conversation) ?? new Map<string, Entry>()
    conversations.set(conversation, entries.set(commit, entry))
  }
  return conversations
}

/** Splits a log into commits. */
function runsOf(events: readonly LogEvent[], violations: string[]): Run[] {
  const runs: Run[] = []
  events.forEach((event, index) => {
    if (event.seq !== index + 1) {
      violations.push(`${event.conversationId} has seq ${event.seq} where ${index + 1} belongs`)
    }
    const commit = commitOf(event)
    const last = runs.at(-1)
    if (last && last.commit === commit) last.events.push(event)
    else runs.push({ commit, events: [event] })
  })
  return runs
}

function isWhole({ planned }: Entry, events: readonly LogEvent[]): boolean {
  const written = events.map(({ type, content }) => ({ type, content }))
  return isDeepStrictEqual(written, planned.change.events)
}

function checkAnswers({ planned, attempts, answers, failures }: Entry, lastSeq: number | undefined): string[] {
  const { commit, expects } = planned
  const violations: string[] = []
  for (const answer of answers) {
    const given = answer.ok ? 'ok' : answer.conflict
    if (given !== expects) violations.push(`${commit} was answered ${given} instead of ${expects}`)
    else if (answer.ok && lastSeq === undefined) violations.push(`${commit} was acknowledged and is lost`)
    else if (answer.ok && answer.seq !== lastSeq) {
      violations.push(`${commit} was acknowledged as ${answer.seq} and is at ${lastSeq}`)
    }
  }
  if (expects !== 'ok' && lastSeq !== undefined) violations.push(`${commit} should be refused and is in the log`)
  const hasCleanlyFailed = failures.length === attempts && failures.every((failure) => !failure.isAmbiguous)
  if (hasCleanlyFailed && lastSeq !== undefined) {
    violations.push(`${commit} failed with the promise that nothing was written, and is in the log`)
  }
  return violations
}

async function checkCalls(
  store: TenantStore,
  conversation: string,
  entries: ReadonlyMap<string, Entry>,
  present: ReadonlySet<string>,
): Promise<string[]> {
  const violations: string[] = []
  const written = [...entries.values()].filter(({ planned }) => present.has(planned.commit))
  const results = new Map(
    written.flatMap(({ planned }) => planned.change.resolve ?? []).map(({ callId, result }) => [callId, result]),
  )
  const pending = new Set<string>()
  for (const { planned } of entries.values()) {
    for (const { id, args } of planned.change.calls ?? []) {
      const row = await store.getToolCall(id)
      if (!present.has(planned.commit)) {
        if (row) violations.push(`${id} has a row without its events`)
        continue
      }
      const isResolved = results.has(id)
      if (!isResolved) pending.add(id)
      const expected: Partial<ToolCall> = {
        id,
        conversationId: conversation,
        name: 'refund',
        args: args ?? null,
        status: isResolved ? 'resolved' : 'pending',
        result: results.get(id) ?? null,
        round: 1,
      }
      if (!row) violations.push(`${id} has events without a row`)
      else if (!isDeepStrictEqual({ ...row, ...expected }, row))
        violations.push(`${id} has a row its events do not give`)
    }
  }
  const listed = (await store.pendingToolCalls(conversation)).map((call) => call.id)
  if (!isDeepStrictEqual(new Set(listed), pending)) violations.push(`${conversation} lists other calls than wait in it`)
  return violations
}

/** The cached state is that of the last commit that brought one. */
async function checkRecord(
  store: TenantStore,
  conversation: string,
  entries: ReadonlyMap<string, Entry>,
  runs: readonly Run[],
): Promise<string[]> {
  const record = await store.getConversation(conversation)
  const lastSeq = runs.at(-1)?.events.at(-1)?.seq ?? 0
  if (!record) return lastSeq === 0 ? [] : [`${conversation} has events and no record`]
  if (lastSeq === 0) return [`${conversation} has a record and no events`]
  const cached = runs
    .map(({ commit }) => entries.get(commit ?? '')?.planned.change)
    .findLast((change) => change?.fsmState !== undefined)
  const violations: string[] = []
  if (record.lastSeq !== lastSeq)
    violations.push(`${conversation} is at ${lastSeq} and its record at ${record.lastSeq}`)
  if (!isDeepStrictEqual(record.fsmState, cached?.fsmState ?? null)) {
    violations.push(`${conversation} has a cached state its last commit did not bring`)
  }
  const titled = cached?.events.findLast(({ type }) => type === 'titled')
  if (record.title !== (titled?.type === 'titled' ? titled.content.title : null)) {
    violations.push(`${conversation} has a title its last commit did not bring`)
  }
  return violations
}
