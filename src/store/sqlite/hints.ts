import type { Logger } from '../../base/logger.ts'
import type { Unsubscribe, WakeHint } from '../store.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'
import { isBusy } from './failure.ts'

const pollMs = 20

/** Tells of the events that other connections commit. SQLite has no messages between processes, so it asks. */
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
        logger.warn('watching the store for changes of other processes failed; trying again', { error: reason })
      isFailing = true
    }
    for (const hint of hints) emit(hint)
  }

  poll()
  const timer = setInterval(poll, pollMs).unref()
  return () => clearInterval(timer)
}

/** `version` changes when another connection than `db` commits; `eventId` is the newest event that was there. */
type Seen = { readonly db: Database; readonly version: number; readonly eventId: number }

function look(db: Database, last: Seen | null): { seen: Seen; hints: WakeHint[] } {
  const version = db.get<{ data_version: number }>('PRAGMA data_version')!.data_version
  const eventId = db.get<{ id: number | null }>('SELECT max(id) AS id FROM events')?.id ?? 0
  // An unchanged version with newer events means that this connection wrote them; of those the store tells by itself.
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
