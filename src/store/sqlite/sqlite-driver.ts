import type { Logger } from '../../base/logger.ts'
import { ClockWatch } from '../clock-watch.ts'
import type { Driver } from '../driver.ts'
import { getBlob, putBlob } from './blobs.ts'
import { dueCalls, getCall, inbox, pendingCalls, setDeadline } from './calls.ts'
import { commitChange } from './commit-change.ts'
import { Connection } from './connection.ts'
import { getConversation, listConversations } from './conversations.ts'
import { deleteConversation, deleteTenant } from './delete-conversation.ts'
import { dueWork } from './due-work.ts'
import { readEvents } from './events.ts'
import { forkConversation } from './fork-conversation.ts'
import { GroupCommit } from './group-commit.ts'
import { claimLease, releaseLease, renewLeases, takeBackLapse, unquarantine } from './leases.ts'
import { gcModelCalls, modelCalls, putModelCall } from './model-calls.ts'
import { movedLogs } from './moved-logs.ts'
import { putRight } from './put-right.ts'
import { getSnapshot, putSnapshot } from './snapshots.ts'
import { latestSummary, putSummary } from './summaries.ts'
import { sqliteUpkeep } from './upkeep/upkeep.ts'
import { watchOthers } from './watch-others.ts'

type SqliteDriverOptions = { readonly path: string; readonly busyTimeoutMs: number; readonly logger: Logger }

export function sqliteDriver({ path, busyTimeoutMs, logger }: SqliteDriverOptions): Driver {
  const connection = new Connection(path, busyTimeoutMs)
  const commits = new GroupCommit(connection)
  const clockWatch = new ClockWatch()
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
    putSummary: (tenant, id, summary) => commits.write((db) => putSummary(db, tenant, id, summary)),
    latestSummary: (tenant, id) => connection.read((db) => latestSummary(db, tenant, id)),
    getConversation: (tenant, id) => connection.read((db) => getConversation(db, tenant, id)),
    listConversations: (tenant, filter) => connection.read((db) => listConversations(db, tenant, filter)),
    deleteConversation: (tenant, id) => commits.write((db) => deleteConversation(db, tenant, id)),
    deleteTenant: (tenant) => commits.write((db) => deleteTenant(db, tenant)),
    getCall: (tenant, callId) => connection.read((db) => getCall(db, tenant, callId)),
    pendingCalls: (tenant, id) => connection.read((db) => pendingCalls(db, tenant, id)),
    inbox: (tenant, page) => connection.read((db) => inbox(db, tenant, page)),
    setDeadline: (tenant, id, callId, inMs) => commits.write((db) => setDeadline(db, tenant, id, callId, inMs)),
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
      const now = Date.now()
      const news = clockWatch.newsAt(now)
      if (news !== 'goes on') await commits.write((db) => putRight(db, news, query.leaseMs))
      clockWatch.isRightAt(now)
      return connection.read((db) => dueWork(db, query))
    },
    movedLogs: (watched) => connection.read((db) => movedLogs(db, watched)),
    putBlob: (tenant, hash, bytes, mediaType) => commits.write((db) => putBlob(db, tenant, hash, bytes, mediaType)),
    getBlob: (tenant, hash, slice) => connection.read((db) => getBlob(db, tenant, hash, slice)),
    putSnapshot: (tenant, id, snapshot) => commits.write((db) => putSnapshot(db, tenant, id, snapshot)),
    getSnapshot: (tenant, id) => connection.read((db) => getSnapshot(db, tenant, id)),
    upkeep: sqliteUpkeep(connection, commits),
    watchOthers: (emit) => watchOthers(connection, logger, emit),
    async close() {
      connection.close()
    },
  }
}
