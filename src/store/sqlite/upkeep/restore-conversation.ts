import { StoreBusyError } from '../../../base/errors/store-errors.ts'
import { rowSize } from '../../row-size.ts'
import type { ConversationRow, RestoredConversation, RestoreOutcome } from '../../upkeep.ts'
import { BusyRetry, pause } from '../busy-retry.ts'
import type { Connection } from '../connection.ts'
import { findConversation } from '../conversations.ts'
import type { Database } from '../database.ts'
import type { GroupCommit } from '../group-commit.ts'
import { isBusy } from '../sqlite-errors.ts'
import { refuseRestore, writeRestored } from './restore-rows.ts'
import { Staging } from './staging.ts'

/** What is held in memory; a longer conversation is staged in a temporary file first, so that nobody waits while its rows come in. */
const heldBytes = 4 * 1024 * 1024

type Parts = {
  readonly connection: Connection
  readonly commits: GroupCommit
  readonly alone: <T>(work: (own: Connection) => Promise<T>) => Promise<T>
  readonly busyTimeoutMs: number
}

export async function restoreConversation(
  { connection, commits, alone, busyTimeoutMs }: Parts,
  tenant: string,
  conversation: RestoredConversation,
  rows: AsyncIterable<ConversationRow>,
): Promise<RestoreOutcome> {
  const isTaken = await connection.read((db) => findConversation(db, tenant, conversation.id) !== undefined)
  if (isTaken) return { type: 'exists' }
  const restore = (db: Database, all: () => Iterable<ConversationRow>): RestoreOutcome =>
    refuseRestore(db, tenant, conversation.id, all()) ?? {
      type: 'ok',
      seq: writeRestored(db, tenant, conversation, all()),
    }
  const held: ConversationRow[] = []
  let bytes = 0
  const iterator = rows[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await iterator.next()
      if (next.done) return await commits.write((db) => restore(db, () => held))
      held.push(next.value)
      bytes += rowSize(next.value)
      if (bytes > heldBytes) break
    }
    return await alone(async (own) => {
      const staging = new Staging(own.open())
      for (const row of held.splice(0)) staging.add(row)
      for (;;) {
        const next = await iterator.next()
        if (next.done) break
        staging.add(next.value)
      }
      return await inTransaction(own, busyTimeoutMs, (db) => restore(db, () => staging.rows()))
    })
  } finally {
    await iterator.return?.()
  }
}

async function inTransaction<T>(own: Connection, busyTimeoutMs: number, work: (db: Database) => T): Promise<T> {
  const retry = new BusyRetry(busyTimeoutMs)
  const db = own.open()
  for (;;) {
    try {
      db.run('BEGIN IMMEDIATE')
      const result = work(db)
      // Durable from here: the whole conversation. A crash before it finds nothing of it.
      db.run('COMMIT')
      return result
    } catch (error) {
      db.rollBack()
      if (!isBusy(error)) throw error
      const waitMs = retry.next(error)
      if (waitMs instanceof StoreBusyError) throw waitMs
      await pause(waitMs)
    }
  }
}
