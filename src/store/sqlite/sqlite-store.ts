import { resolve } from 'node:path'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { safeLogger } from '../../base/redact/redacting-logger.ts'
import { checkDuration } from '../checks.ts'
import { createStore, type StoreOptions } from '../create-store.ts'
import type { Driver } from '../driver.ts'
import { FairSearch } from '../fair-search.ts'
import { ClockWatch } from '../lease.ts'
import type { Store } from '../store.ts'
import { sqliteAccounts } from './accounts.ts'
import { claimDue, mayClaim } from './claim-due.ts'
import { commitChange } from './commit-change.ts'
import { Connection } from './connection.ts'
import { changedSince, getConversation, listConversations, tally } from './conversations.ts'
import { dueCalls, getCall, inbox, pendingCalls, readEvents } from './events.ts'
import { findDue } from './find-due.ts'
import { deleteConversation, deleteTenant, forkConversation } from './fork-and-delete.ts'
import { GroupCommit } from './group-commit.ts'
import { watchOthers } from './hints.ts'
import { sqliteJobs } from './jobs.ts'
import {
  claimLease,
  movedLogs,
  releaseLease,
  renewLeases,
  repairAfterClockChange,
  takeBackLapse,
  unquarantine,
} from './leases.ts'
import { sqliteNodes } from './nodes.ts'
import { sqliteOutbox } from './outbox.ts'
import {
  gcModelCalls,
  getBlob,
  getSnapshot,
  latestSummary,
  modelCalls,
  putBlob,
  putModelCall,
  putSnapshot,
  putSummary,
} from './records.ts'
import { sqliteSteering } from './steering.ts'
import { sqliteUpkeep } from './upkeep/upkeep.ts'

/** Options of `sqliteStore`. */
export type SqliteStoreOptions = StoreOptions & {
  /** The file; its folder must exist. Several processes may use the same file, on a local disk. */
  readonly path: string
  /** How long a call waits for other processes before `StoreBusyError`. Default: 30,000. */
  readonly busyTimeoutMs?: number
}

/** A store in one SQLite file. The first call opens the file and migrates it to the current schema. */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const { path, busyTimeoutMs = 30_000 } = options
  const logger = safeLogger(options.logger)
  checkPath(path)
  checkDuration('busyTimeoutMs', busyTimeoutMs, 0)
  // Resolved now, because the connection may be reopened after the process has changed its working directory.
  return createStore(sqliteDriver({ path: resolve(path), busyTimeoutMs, logger }), options)
}

function checkPath(path: unknown): void {
  if (typeof path !== 'string' || path === '') throw new InvalidArgumentError('path', 'must name a file')
  if (path.includes('\0')) throw new InvalidArgumentError('path', 'has a NUL character')
  if (path.includes(':memory:')) {
    throw new InvalidArgumentError('path', `is '${path}', which is not a file; for a store in memory use memoryStore()`)
  }
}

type SqliteDriverOptions = { readonly path: string; readonly busyTimeoutMs: number; readonly logger: Logger }

export function sqliteDriver({ path, busyTimeoutMs, logger }: SqliteDriverOptions): Driver {
  const connection = new Connection(path, busyTimeoutMs)
  const commits = new GroupCommit(connection)
  const clockWatch = new ClockWatch()
  const search = new FairSearch()
  const watchClock = async (leaseMs: number | undefined): Promise<void> => {
    const now = Date.now()
    const news = clockWatch.observe(now)
    if (news !== 'forward') await commits.write((db) => repairAfterClockChange(db, news, leaseMs))
    clockWatch.repairedAt(now)
  }
  return {
    durable: true,
    commit: (tenant, id, change) => commits.write((db) => commitChange(db, tenant, id, change)),
    readEvents: (tenant, id, range) => connection.read((db) => readEvents(db, tenant, id, range)),
    loadSince: (tenant, id, bounds) =>
      connection.read((db) =>
        db.snapshot(() => {
          const summary = latestSummary(db, tenant, id)
          const range = { ...bounds, after: summary?.toSeq ?? 0, keep: 'oldest' as const }
          return { summary, events: readEvents(db, tenant, id, range) }
        }),
      ),
    putSummary: (tenant, id, summary, plannedOn) =>
      commits.write((db) => putSummary(db, tenant, id, summary, plannedOn)),
    latestSummary: (tenant, id) => connection.read((db) => latestSummary(db, tenant, id)),
    getConversation: (tenant, id) => connection.read((db) => getConversation(db, tenant, id)),
    listConversations: (tenant, filter) => connection.read((db) => listConversations(db, tenant, filter)),
    changedSince: (tenant, since, limit) => connection.read((db) => changedSince(db, tenant, since, limit)),
    tally: (tenant, owner) => connection.read((db) => tally(db, tenant, owner)),
    deleteConversation: (tenant, id) => commits.write((db) => deleteConversation(db, tenant, id)),
    deleteTenant: (tenant) => commits.write((db) => deleteTenant(db, tenant)),
    getCall: (tenant, callId) => connection.read((db) => getCall(db, tenant, callId)),
    pendingCalls: (tenant, id, isBrief) => connection.read((db) => pendingCalls(db, tenant, id, isBrief)),
    inbox: (tenant, page) => connection.read((db) => inbox(db, tenant, page)),
    dueCalls: (limit) => connection.read((db) => dueCalls(db, limit)),
    putModelCall: (tenant, id, call) => commits.write((db) => putModelCall(db, tenant, id, call)),
    modelCalls: (tenant, id, range) => connection.read((db) => modelCalls(db, tenant, id, range)),
    gcModelCalls: (tenant, id, ttlMs) => commits.write((db) => gcModelCalls(db, tenant, id, ttlMs)),
    fork: (tenant, id, newId, request) => commits.write((db) => forkConversation(db, tenant, id, newId, request)),
    claimLease: (tenant, id, holder, ttlMs, options) =>
      commits.write((db) => claimLease(db, tenant, id, holder, ttlMs, options)),
    releaseLease: (tenant, id, epoch) => commits.write((db) => releaseLease(db, tenant, id, epoch)),
    takeBackLapse: (tenant, id, epoch) => commits.write((db) => takeBackLapse(db, tenant, id, epoch)),
    unquarantine: (tenant, id) => commits.write((db) => unquarantine(db, tenant, id)),
    renewLeases: (holder, ttlMs, known) => commits.write((db) => renewLeases(db, holder, ttlMs, known)),
    async dueWork(query) {
      await watchClock(query.leaseMs)
      return connection.read((db) => db.snapshot(() => findDue(db, search, query)))
    },
    async claimDue(claim) {
      await watchClock(claim.ttlMs)
      const isDue = await connection.read((db) => mayClaim(db, search, claim))
      return isDue ? commits.write((db) => claimDue(db, search, claim)) : []
    },
    movedLogs: (watched) => connection.read((db) => movedLogs(db, watched)),
    putBlob: (tenant, hash, bytes, mediaType) => commits.write((db) => putBlob(db, tenant, hash, bytes, mediaType)),
    getBlob: (tenant, hash, slice) => connection.read((db) => getBlob(db, tenant, hash, slice)),
    putSnapshot: (tenant, id, snapshot) => commits.write((db) => putSnapshot(db, tenant, id, snapshot)),
    getSnapshot: (tenant, id) => connection.read((db) => getSnapshot(db, tenant, id)),
    upkeep: sqliteUpkeep(connection, commits),
    jobs: sqliteJobs(connection, commits),
    outbox: sqliteOutbox(connection, commits),
    accounts: sqliteAccounts(connection, commits),
    nodes: sqliteNodes(connection, commits),
    steering: sqliteSteering(connection, commits),
    watchOthers: (emit) => watchOthers(connection, logger, emit),
    async close() {
      connection.close()
    },
  }
}
