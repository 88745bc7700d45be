import { readArgument, readOptions } from '../base/errors/read-options.ts'
import {
  ConversationNotFoundError,
  InvalidArgumentError,
  SummaryOverlapError,
  SummarySupersededError,
} from '../base/errors/store-errors.ts'
import { type ConversationStatus, phaseOf, statusOf } from '../log/fsm-state.ts'
import type { Change, CommitResult } from './change.ts'
import { checkId, checkOneOf, checkWhole } from './checks.ts'
import type { Driver } from './driver.ts'
import { readAttrs } from './prepare-change.ts'
import {
  type ConversationAttrs,
  type ConversationKind,
  type ConversationRecord,
  conversationStatuses,
  type NewSummary,
} from './records.ts'
import { encodeSummary } from './rows.ts'
import type { TenantStore } from './store.ts'
import { bound, loadWhole } from './working-sets.ts'

type Target = {
  readonly driver: Pick<Driver, 'readEvents'>
  readonly tenant: string
  readonly id: string
  readonly store: TenantStore
  /** Creates the conversation. */
  commit(change: Change): Promise<CommitResult>
}

/**
 * Upserts the columns of a conversation. Where the log says the same thing, the log decides: a new title is a `titled` event in the same commit, and a status
 * that contradicts the log is refused.
 */
export async function putConversation(target: Target, input: ConversationAttrs): Promise<void> {
  const { title, ...others } = readArgument('conversation', () => readAttrs(input))
  const { status } = others
  if (status !== undefined) checkOneOf('status', status, conversationStatuses)
  for (;;) {
    const record = status === undefined && title === undefined ? null : await target.store.getConversation(target.id)
    const judged = status === undefined ? {} : { expectedSeq: await judgeStatus(target, { ...others, status }, record) }
    // A title that it has already is not written again: a repeated upsert must not make the log grow.
    const isNew = title !== undefined && title !== (record?.title ?? null)
    const conversation = isNew ? { ...others, title } : others
    if ((await target.commit({ events: [], conversation, ...judged })).ok) return
    // The log has grown since the status was judged.
  }
}

/** Returns the end of the log that the status was compared with. */
async function judgeStatus(
  target: Target,
  { status, kind }: { readonly status: ConversationStatus; readonly kind?: ConversationKind },
  record: ConversationRecord | null,
): Promise<number> {
  const { lastSeq, says } = await statusInLog(target, kind, record)
  if (says.includes(status)) return lastSeq
  const problem = `is '${status}', but the log of '${target.id}' says '${says[0]}'; leave it out, because each commit sets it`
  throw new InvalidArgumentError('status', problem)
}

/** For a session, only whether it has ended is known here: its flow folds its record. */
async function statusInLog(
  { driver, tenant, id, store }: Target,
  kind: ConversationKind | undefined,
  record: ConversationRecord | null,
): Promise<{ readonly lastSeq: number; readonly says: readonly ConversationStatus[] }> {
  if ((kind ?? record?.kind) === 'flow') {
    const ends = await driver.readEvents(tenant, id, { type: 'flow_ended', limit: 1 })
    const hasEnded = ends.length > 0
    const says = conversationStatuses.filter((status) => ['ended', 'failed'].includes(status) === hasEnded)
    return { lastSeq: record?.lastSeq ?? 0, says }
  }
  const { state } = await loadWhole(store, id, bound)
  return { lastSeq: state.lastSeq, says: [statusOf(phaseOf(state))] }
}

/** Checks a summary and puts it, unless the log or another summary does not allow it. */
export async function putSummary(
  driver: Pick<Driver, 'putSummary'>,
  tenant: string,
  id: string,
  summary: NewSummary,
): Promise<void> {
  checkId('conversation id', id)
  const { plannedOn, ...row } = readArgument('summary', () => encodeSummary(summary))
  const outcome = await driver.putSummary(tenant, id, row, plannedOn)
  if (outcome === 'ok') return
  if (outcome === 'missing') throw new ConversationNotFoundError(id)
  if ('overlaps' in outcome) throw new SummaryOverlapError(id, row, outcome.overlaps)
  if ('supersededAt' in outcome) throw new SummarySupersededError(id, plannedOn, outcome.supersededAt)
  const problem = `is ${row.toSeq}, past the end of '${id}' at ${outcome.pastEnd}; use a seq of its log`
  throw new InvalidArgumentError('toSeq', problem)
}

/** What changed in a tenant, and how much it has. */
export function tenantChanges(
  driver: Driver,
  tenant: string,
): Pick<TenantStore, 'changedSince' | 'pendingCallNames' | 'tally'> {
  return {
    async pendingCallNames(id) {
      checkId('conversation id', id)
      return (await driver.pendingCalls(tenant, id, true)).map(({ id: callId, round, kind }) => ({
        id: callId,
        round,
        kind,
      }))
    },
    async changedSince(since, limit) {
      checkWhole('since', since, 0)
      checkWhole('limit', limit, 1)
      return (await driver.changedSince?.(tenant, since, limit)) ?? null
    },
    async tally(input) {
      const { owner } = readOptions('filter', input, ['owner'])
      if (owner !== undefined) checkId('owner', owner)
      return (await driver.tally?.(tenant, owner ?? null)) ?? null
    },
  }
}
