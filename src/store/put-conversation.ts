import { readArgument } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { type ConversationStatus, phaseOf, statusOf } from '../log/fsm-state.ts'
import type { Change, CommitResult } from './change.ts'
import { checkOneOf } from './checks.ts'
import type { Driver } from './driver.ts'
import { readAttrs } from './prepare-change.ts'
import {
  type ConversationAttrs,
  type ConversationKind,
  type ConversationRecord,
  conversationStatuses,
} from './records.ts'
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

/** Of a session, only whether it has ended can be told here: its record is folded by its flow. */
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
