import { createHash } from 'node:crypto'
import { readArgument, readOptions } from '../base/errors/read-options.ts'
import {
  CallNotFoundError,
  ConversationDeletedError,
  ConversationExistsError,
  ConversationNotFoundError,
  ConversationUnreadableError,
  InvalidArgumentError,
  KeyReusedError,
  OwnerOnlyError,
} from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import type { BlobRef } from '../log/blob-ref.ts'
import { decode, encode } from '../log/codec.ts'
import { isOwnersEvent } from '../log/event-roles.ts'
import type { LogEvent } from '../log/events.ts'
import { type Change, type CommitResult, eventsOfEnd, written } from './change.ts'
import {
  checkDuration,
  checkId,
  checkNewId,
  checkOneOf,
  checkWhole,
  isDotSegment,
  readBounds,
  readFilter,
  readInboxFilter,
  readModelCallRange,
  readRange,
  readSlice,
} from './checks.ts'
import type { StoreContext } from './create-store.ts'
import type { CommitOutcome, CommitRefusal, PreparedChange, PreparedDeadline } from './driver.ts'
import { noDeadline, ofSession } from './flow-call.ts'
import type { ClaimOptions, ClaimOutcome } from './lease.ts'
import { eventPage } from './log-pages.ts'
import { finalStatuses, type PrepareOptions, prepareChange } from './prepare-change.ts'
import { readAcquire } from './read-limits.ts'
import {
  decodeCall,
  decodeConversation,
  decoded,
  decodeEvent,
  decodeModelCall,
  decodeSummary,
  encodeModelCall,
  listConversation,
} from './rows.ts'
import type { BlobSlice, TenantStore, WhoOptions } from './store.ts'
import { putConversation, putSummary, tenantChanges } from './tenant-rows.ts'

const defaultPage = 100

/** The handle of one tenant: checks, encodes, and passes the tenant to every call of the driver. */
export function createTenantStore(context: StoreContext, tenant: string): TenantStore {
  const { driver, hints, leases, expiry } = context
  const { resends = false } = driver

  async function commit(id: string, change: Change, options: PrepareOptions = {}): Promise<CommitResult> {
    checkId('conversation id', id)
    if (isDotSegment(id) && !(await driver.getConversation(tenant, id))) checkNewId('conversation id', id)
    const prepared = readArgument('change', () =>
      prepareChange(change, { ...options, resends, onLargeEvent, conversationId: id }),
    )
    const { releasesLease, acquires, epoch } = prepared
    if (prepared.deadline) await refuseChildCall(id, prepared.deadline)
    const write = () => writePrepared(id, prepared)
    const lets = releasesLease && epoch !== null
    const outcome = lets ? await leases.lettingGo({ tenant, id, epoch }, write, isWritten) : await write()
    if (outcome.type === 'ok') {
      if (acquires && outcome.epoch !== undefined) {
        leases.add({ tenant, id, holder: acquires.holder, epoch: outcome.epoch })
      }
      for (const { expiresInMs } of prepared.calls) if (expiresInMs !== null) expiry.within(expiresInMs)
      if (prepared.deadline && prepared.deadline.expiresInMs !== null) expiry.within(prepared.deadline.expiresInMs)
      if (prepared.events.length > 0 || prepared.wake.type === 'in') hints.emit({ tenant, id, seq: outcome.seq })
      return { ok: true, seq: outcome.seq, ...written(outcome) }
    }
    return refusal(id, prepared, outcome)
  }

  const ownersType = (events: PreparedChange['events']): string =>
    events.find(({ type, content }) => isOwnersEvent({ type, content: Object(decode(content)) }))?.type ?? ''

  /** The kind of a round never changes, so it can be looked at before the commit. */
  async function refuseChildCall(id: string, { callId, round }: PreparedDeadline): Promise<void> {
    const row = await driver.getCall(tenant, callId)
    if (row?.conversationId !== id || row.round !== round || row.status !== 'pending') return
    if (row.kind === 'flow') throw new InvalidArgumentError('timeoutMs', noDeadline(callId))
    if (row.kind !== 'sub_agent') return
    throw new InvalidArgumentError(
      'call id',
      `'${callId}' waits for a child agent, which has no deadline; cancel the turn to end it`,
    )
  }

  /** Ignores a call that is unknown or no longer waits. */
  async function moveDeadline(
    id: string,
    callId: string,
    expiresInMs: number | null,
    options?: WhoOptions,
  ): Promise<void> {
    const { who = 'system' } = readOptions('options', options, ['who'])
    checkId('conversation id', id)
    checkId('call id', callId)
    checkId('who', who)
    if (expiresInMs !== null) checkDuration('timeoutMs', expiresInMs)
    const row = await driver.getCall(tenant, callId)
    if (row?.conversationId !== id || row.status !== 'pending') return
    if (expiresInMs === null && row.expiresAt === null) return
    const content = { callId, round: row.round, expiresInMs, who }
    // Durable from here: the log and the row have the new deadline. Refused: an answer or the expiry was first.
    await commit(id, { events: [{ type: 'deadline_moved', content }], resendKey: `deadline/${uuidV7()}` })
  }

  async function writePrepared(id: string, prepared: PreparedChange): Promise<CommitOutcome> {
    try {
      return await driver.commit(tenant, id, prepared)
    } catch (error) {
      return unmerged(id, error)
    }
  }

  async function refusal(id: string, { key, events }: PreparedChange, outcome: CommitRefusal): Promise<CommitResult> {
    switch (outcome.type) {
      case 'seq':
      case 'epoch':
        return { ok: false, conflict: outcome.type, lastSeq: outcome.lastSeq }
      case 'stale': {
        const winner = await findWinner(id, outcome.callId, outcome.round)
        return { ok: false, conflict: 'stale', lastSeq: outcome.lastSeq, ...(winner ? { winner } : {}) }
      }
      case 'owned':
        throw new OwnerOnlyError(id, ownersType(events))
      case 'key_reused':
        throw new KeyReusedError(id, key ?? '')
      case 'missing':
        throw new ConversationNotFoundError(id)
      case 'deleted':
        throw new ConversationDeletedError(id)
      case 'call_elsewhere':
        throw new InvalidArgumentError('call id', `'${outcome.callId}' belongs to another conversation; use a new id`)
    }
  }

  /** The resolution of that round. The row has it unless the call has moved on to another round. */
  async function findWinner(id: string, callId: string, round: number): Promise<LogEvent | null> {
    const row = await driver.getCall(tenant, callId)
    if (!row || row.conversationId !== id) return null
    if (row.round === round && row.resolvedSeq !== null) {
      const events = await driver.readEvents(tenant, id, { after: row.resolvedSeq - 1, before: row.resolvedSeq + 1 })
      return events[0] ? decodeEvent(id, events[0]) : null
    }
    const resolutions = await driver.readEvents(tenant, id, { type: 'resolution' })
    const decoded = resolutions.map((event) => decodeEvent(id, event))
    return (
      decoded.find(
        (event) => event.type === 'resolution' && event.content.callId === callId && event.content.round === round,
      ) ?? null
    )
  }

  /** For methods that create the conversation and cannot conflict. */
  async function write(id: string, change: Change): Promise<number> {
    const result = await commit(id, change, { creates: true })
    if (!result.ok && result.conflict === 'stale')
      throw new InvalidArgumentError('event', 'moves the deadline of a call that does not wait; use scheduleExpiry')
    if (!result.ok) throw new Error(`unconditional commit to '${id}' met a conflict: ${result.conflict}`)
    return result.seq
  }

  async function claimLease(id: string, holder: string, ttlMs: number, options?: ClaimOptions): Promise<ClaimOutcome> {
    const { suspects, limits } = readOptions('options', options, ['suspects', 'limits'])
    checkId('conversation id', id)
    const { holder: _, ttlMs: __, ...claim } = readAcquire({ holder, ttlMs, suspects, limits })
    const outcome = await driver.claimLease(tenant, id, holder, ttlMs, claim)
    if (outcome.type === 'taken') leases.add({ tenant, id, holder, epoch: outcome.epoch })
    return outcome
  }

  function onLargeEvent(type: string, bytes: number): void {
    context.logger.warn('a large event was written; put files and long texts into blobs', { tenant, type, bytes })
  }

  const store: TenantStore = {
    commit,
    appendEvent: (id, event) => write(id, { events: [event] }),
    putConversation: (id, attrs) =>
      putConversation({ driver, tenant, id, store, commit: (change) => commit(id, change, { creates: true }) }, attrs),
    putFsmState: async (id, fsmState) => void (await write(id, { events: [], conversation: { fsmState } })),
    upsertToolCall: async (id, call) => void (await write(id, { events: [], calls: [call] })),

    async streamEvents(id, input) {
      checkId('conversation id', id)
      const range = readRange(input)
      return (await driver.readEvents(tenant, id, range)).map((event) => decodeEvent(id, event))
    },
    async pageEvents(id, input) {
      checkId('conversation id', id)
      const range = readRange(input)
      return eventPage(id, await driver.readEvents(tenant, id, range), range)
    },
    async loadSince(id) {
      checkId('conversation id', id)
      const { summary, events } = await driver.loadSince(tenant, id)
      return { summary: summary && decodeSummary(summary), events: events.map((event) => decodeEvent(id, event)) }
    },
    async pageSince(id, input) {
      checkId('conversation id', id)
      const bounds = readBounds(input)
      const { summary, events } = await driver.loadSince(tenant, id, bounds)
      const range = { ...bounds, after: summary?.toSeq ?? 0, keep: 'oldest' as const }
      return { summary: summary && decodeSummary(summary), page: eventPage(id, events, range) }
    },

    putSummary: (id, summary) => putSummary(driver, tenant, id, summary),
    async latestSummary(id) {
      checkId('conversation id', id)
      const summary = await driver.latestSummary(tenant, id)
      return summary && decodeSummary(summary)
    },

    async getConversation(id) {
      checkId('conversation id', id)
      const row = await driver.getConversation(tenant, id)
      return row && decodeConversation(row)
    },
    async standing(id) {
      checkId('conversation id', id)
      const row = await driver.getConversation(tenant, id)
      if (!row) return null
      const { agent, owner, lastSeq } = decodeConversation(row)
      return { agent, owner, lastSeq, isIdle: row.idleSeq === lastSeq, isQuarantined: row.quarantinedAt !== null }
    },
    async listConversations(input) {
      const filter = readFilter(input)
      const rows = await driver.listConversations(tenant, { limit: defaultPage, ...filter })
      if (!rows) throw new ConversationNotFoundError(filter.before ?? '')
      return rows.map((row) => {
        const record = listConversation(row)
        if (record.unreadable) context.damage.tell(tenant, row.id, record.unreadable)
        return record
      })
    },
    ...tenantChanges(driver, tenant),
    async deleteConversation(id) {
      checkId('conversation id', id)
      const isDeleted = (await driver.deleteConversation(tenant, id)) > 0
      // Feeds of this process read the row again; those of others find the tombstone.
      if (isDeleted) hints.emit({ tenant, id, seq: 0 })
      return isDeleted
    },

    async getToolCall(callId) {
      checkId('call id', callId)
      const row = await driver.getCall(tenant, callId)
      return row && decodeCall(row)
    },
    async pendingToolCalls(id) {
      checkId('conversation id', id)
      return (await driver.pendingCalls(tenant, id)).map(decodeCall)
    },
    async pendingInbox(input) {
      const page = readInboxFilter(input)
      const rows = await driver.inbox(tenant, { limit: defaultPage, ...page })
      if (!rows) throw new CallNotFoundError(page.before ?? '')
      return rows.map((row) => {
        const title = row.title === null ? null : decoded(row.title)
        if (title === undefined) context.damage.tell(tenant, row.conversationId, ['title'])
        const quarantine = row.quarantinedAt === null ? {} : { quarantinedAt: row.quarantinedAt }
        const { agent, owner } = row
        return { ...decodeCall(row), agent, title: (title ?? null) as string | null, owner, ...quarantine }
      })
    },
    async resolveToolCall(callId, status, result, options) {
      const { who = 'system' } = readOptions('options', options, ['who'])
      checkId('call id', callId)
      checkOneOf('status', status, finalStatuses)
      checkId('who', who)
      encode(result, 'result')
      const row = await driver.getCall(tenant, callId)
      if (row?.status !== 'pending') return 'stale'
      const { conversationId, round, kind } = row
      if (kind === 'flow') throw new InvalidArgumentError('call id', ofSession(callId, conversationId))
      const events = eventsOfEnd({ callId, round, kind, status, value: result, who })
      const change = { events, resolve: [{ callId, round, status, result }] }
      const outcome = await commit(conversationId, change, { endsCall: true })
      return outcome.ok ? 'ok' : 'stale'
    },
    async scheduleExpiry(id, callId, timeoutMs, options) {
      checkDuration('timeoutMs', timeoutMs)
      await moveDeadline(id, callId, timeoutMs, options)
    },
    cancelExpiry: (id, callId, options) => moveDeadline(id, callId, null, options),

    async putModelCall(id, call) {
      checkId('conversation id', id)
      const row = readArgument('model call', () => encodeModelCall(call))
      if (!context.audit) return
      if (!(await driver.putModelCall(tenant, id, row))) throw new ConversationNotFoundError(id)
    },
    async modelCalls(id, input) {
      checkId('conversation id', id)
      const range = readModelCallRange(input)
      return (await driver.modelCalls(tenant, id, range)).map(decodeModelCall)
    },
    async gcModelCalls(id, ttlMs) {
      checkId('conversation id', id)
      checkDuration('ttlMs', ttlMs, 0)
      return driver.gcModelCalls(tenant, id, ttlMs)
    },

    async fork(id, newId, options) {
      const { at, agent, owner } = readOptions('options', options, ['at', 'agent', 'owner'])
      checkId('conversation id', id)
      checkNewId('new conversation id', newId)
      if (at !== undefined) checkWhole('at', at, 0)
      if (agent !== undefined) checkId('agent', agent)
      if (owner !== undefined) checkId('owner', owner)
      const request = { at: at ?? null, agent: agent ?? null, owner: owner ?? null }
      const outcome = await driver.fork(tenant, id, newId, request)
      if (outcome === 'missing') throw new ConversationNotFoundError(id)
      if (outcome === 'exists') throw new ConversationExistsError(newId)
      if (outcome !== 'ok')
        throw new InvalidArgumentError(
          'at',
          `is ${at}, past the end of '${id}' at ${outcome.pastEnd}; use a seq of its log`,
        )
      expiry.within(0)
    },

    claimLease,
    async acquireLease(id, holder, ttlMs) {
      const claimed = await claimLease(id, holder, ttlMs)
      return claimed.type === 'taken' ? { epoch: claimed.epoch } : null
    },
    async takeBackLapse(id, epoch) {
      checkId('conversation id', id)
      checkWhole('epoch', epoch, 0)
      await driver.takeBackLapse(tenant, id, epoch)
    },
    async unquarantine(id) {
      checkId('conversation id', id)
      if (!(await driver.unquarantine(tenant, id))) return false
      await commit(id, { events: [], wakeAt: 'now' })
      return true
    },
    async releaseLease(id, epoch) {
      checkId('conversation id', id)
      checkWhole('epoch', epoch, 0)
      const release = () => driver.releaseLease(tenant, id, epoch)
      await leases.lettingGo({ tenant, id, epoch }, release, () => true)
    },

    async putBlob(bytes, mediaType) {
      if (!readArgument('bytes', () => bytes instanceof Uint8Array))
        throw new InvalidArgumentError('bytes', 'must be a Uint8Array')
      checkId('media type', mediaType)
      const blob = createHash('sha256').update(bytes).digest('hex')
      await driver.putBlob(tenant, blob, bytes, mediaType)
      return { blob, mediaType, size: bytes.byteLength }
    },
    async getBlob(ref: BlobRef, slice?: BlobSlice) {
      const { blob } = readOptions('blob ref', ref, ['blob'])
      checkId('blob', blob)
      return slice === undefined ? driver.getBlob(tenant, blob) : driver.getBlob(tenant, blob, readSlice(slice))
    },

    async putSnapshot(id, snapshot) {
      checkId('conversation id', id)
      await driver.putSnapshot(tenant, id, encode(snapshot, 'snapshot'))
    },
    async getSnapshot(id): Promise<Json> {
      checkId('conversation id', id)
      const text = await driver.getSnapshot(tenant, id)
      return text === null ? null : decode(text)
    },
  }
  return store
}

/** Adds the conversation's id, which `mergeSettings` does not know. */
function unmerged(id: string, error: unknown): never {
  throw error instanceof ConversationUnreadableError ? new ConversationUnreadableError(id, error.columns) : error
}

function isWritten({ type }: CommitOutcome): boolean {
  return type === 'ok'
}
