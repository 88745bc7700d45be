import type { Logger } from '../../base/logger.ts'
import type { Unsubscribe, WakeHint } from '../store.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'
import { isBusy } from './failure.ts'

const pollMs = 20

/** Reports events that other connections commit. SQLite has no messages between processes, so this polls. */
export function watchOthers(connection: Connection, logger: Logger, emit: (hint: WakeHint) => void): Unsubscribe {
  let seen: Seen | null = null
  let isFailing = false

  function poll(): void {
    let hints: WakeHint[] = []
    try {
      const db = connection.open()
      const last = seen
      ;({ seen, hints } = db.snapshot(() => look(db, last)))
      isFailing = false
    } catch (error) {
      if (isBusy(error)) return
      const reason = connection.failed(error)
      if (!isFailing)
        logger.warn('watching the store for changes by other processes failed; trying again', { error: reason })
      isFailing = true
    }
    for (const hint of hints) emit(hint)
  }

  poll()
  const timer = setInterval(poll, pollMs).unref()
  return () => clearInterval(timer)
}

/** `version` changes when a connection other than `db` commits; `eventId` is the newest event seen. */
type Seen = { readonly db: Database; readonly version: number; readonly eventId: number }

function look(db: Database, last: Seen | null): { seen: Seen; hints: WakeHint[] } {
  const version = db.get<{ data_version: number }>('PRAGMA data_version')!.data_version
  const eventId = db.get<{ id: number | null }>('SELECT max(id) AS id FROM events')?.id ?? 0
  // Newer events with an unchanged version were written by this connection; the store sends hints for those itself.
  const isOwn = last !== null && last.db === db && last.version === version
  const hints = last === null || isOwn || eventId <= last.eventId ? [] : hintsAfter(db, last.eventId)
  return { seen: { db, version, eventId }, hints }
}

function hintsAfter(db: Database, eventId: number): WakeHint[] {
  return db
    .all<WakeHint>(
      `SELECT tenant, conversations.id, max(seq) AS seq FROM events NOT INDEXED JOIN conversations USING (cid)
       WHERE events.id > ? GROUP BY cid`,
      eventId,
    )
    .map(({ tenant, id, seq }) => ({ tenant, id, seq }))
}
