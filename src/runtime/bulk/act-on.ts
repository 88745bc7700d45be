import type { ErrorCode } from '../../base/errors/codes.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { failpoint } from '../../base/failpoint.ts'
import { restoredScope, type Scope } from '../../define/scope.ts'
import { forkerOf, isCopied } from '../../engine/scopes.ts'
import type { NewEvent } from '../../log/events.ts'
import { openTurn, queuedTurns, type TurnState } from '../../log/state.ts'
import type { StoredJob } from '../../store/jobs.ts'
import type { TenantStore } from '../../store/store.ts'
import { eventAt } from '../answer-call.ts'
import { cancelQuarantined } from '../cancel-quarantined.ts'
import { conversationHandle } from '../conversation-handle.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { type SkipReason, specOf } from './bulk-request.ts'

/** What became of one conversation. */
export type ItemOutcome = { readonly type: 'done' } | { readonly type: 'skipped'; readonly reason: SkipReason }

const done: ItemOutcome = { type: 'done' }
const skipped = (reason: SkipReason): ItemOutcome => ({ type: 'skipped', reason })

/**
 * Does what a job is for to one conversation. Repeating it changes nothing and gives the same outcome: what it commits has a key that derives from the job. The log
 * decides, because the row that was matched may be older. Rejects where the conversation or the store fails.
 */
export async function actOn(runtime: RuntimeContext, job: StoredJob, id: string): Promise<ItemOutcome> {
  const store = runtime.node.store.forTenant(job.tenant)
  try {
    const outcome = await actions[job.action]({ runtime, job, id, store, key: `job/${job.id}` })
    if (outcome.type === 'done' || job.action === 'unquarantine') return outcome
    // The process that did it may have died before it said so, and the log has changed since.
    return (await isKnown(store, id, `job/${job.id}`)) ? done : outcome
  } catch (error) {
    const reason = PerdureError.isInstance(error) ? reasons[error.code] : undefined
    if (!reason) throw error
    return reason !== 'gone' && (await isKnown(store, id, `job/${job.id}`)) ? done : skipped(reason)
  }
}

type Item = {
  readonly runtime: RuntimeContext
  readonly job: StoredJob
  readonly id: string
  readonly store: TenantStore
  readonly key: string
}

const actions: Readonly<Record<StoredJob['action'], (item: Item) => Promise<ItemOutcome>>> = {
  async cancel({ runtime, job, id, store, key }) {
    const { state } = await runtime.node.workingSets.load(store, job.tenant, id)
    const open = openTurn(state)
    const turns = [...(open ? [open] : []), ...queuedTurns(state)].filter(({ cancel }) => !cancel)
    if (turns.length === 0) return skipped('not_open')
    const events: NewEvent[] = []
    for (const { turnId, ...turn } of turns)
      if ((await openingOf(store, id, turn)).at <= job.createdAt)
        events.push({ type: 'cancel_requested', content: { turnId, who: job.who } })
    if (events.length === 0) return skipped('began_later')
    failpoint('bulk.before_commit')
    await store.commit(id, { events, key })
    // Durable from here: the owner of the conversation ends the turns.
    failpoint('bulk.after_commit')
    await cancelQuarantined(runtime, { tenant: job.tenant, id })
    return done
  },
  async retry({ runtime, job, id, store, key }) {
    const { filter, force } = specOf(job)
    const { state } = await runtime.node.workingSets.load(store, job.tenant, id)
    if (openTurn(state) || queuedTurns(state).length > 0) return skipped('busy')
    const turn = state.turns.findLast(({ opened }) => opened)
    if (!turn?.end || !(filter.ended ?? ['failed']).includes(turn.end.status)) return skipped('ended_otherwise')
    const opening = await openingOf(store, id, turn)
    if (opening.at > job.createdAt) return skipped('began_later')
    // A job adds the name of an operator, not an identity: with the rights of another, what a user wrote could do more than the user may.
    const { tenant } = job
    const forker = await forkerOf(store, id)
    const { who } = isCopied(turn, forker) ? forker : opening
    const identity = { tenant, who, scope: restoredScope(tenant, who) as Scope }
    await conversationHandle(runtime, identity, id, null).retry(turn.turnId, { key, force })
    return done
  },
  async unquarantine({ job, id, store }) {
    const quarantine = (await store.getConversation(id))?.quarantine
    if (!quarantine) return skipped('not_quarantined')
    if (quarantine.at > job.createdAt) return skipped('began_later')
    return (await store.unquarantine(id)) ? done : skipped('not_quarantined')
  },
}

const reasons: Partial<Record<ErrorCode, SkipReason>> = {
  conversation_busy: 'busy',
  conversation_not_found: 'gone',
  force_needed: 'force_needed',
  turn_superseded: 'replaced',
  turn_not_found: 'replaced',
}

type Opening = { readonly at: number; readonly who: string }

/** When the first message of the turn was committed, by the store's clock, and by whom. A state that is trimmed may lack it. */
async function openingOf(
  store: TenantStore,
  id: string,
  { items, firstSeq }: Pick<TurnState, 'items' | 'firstSeq'>,
): Promise<Opening> {
  const first = items.find((item) => item.type === 'user')
  if (first?.seq === firstSeq) return first
  const event = await eventAt(store, id, firstSeq)
  return { at: event?.at ?? 0, who: event?.type === 'user_msg' ? event.content.who : 'anonymous' }
}

/** Whether this job has committed to the conversation: a known key is told of before anything else is checked. */
async function isKnown(store: TenantStore, id: string, key: string): Promise<boolean> {
  try {
    return (await store.commit(id, { events: [], key, expectedSeq: Number.MAX_SAFE_INTEGER })).ok
  } catch (error) {
    const code = PerdureError.isInstance(error) ? error.code : null
    // Its commit had a digest.
    if (code === 'key_reused') return true
    if (code === 'conversation_not_found') return false
    throw error
  }
}
