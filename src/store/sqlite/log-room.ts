import { statSync } from 'node:fs'
import type { Connection } from './connection.ts'
import { cacheSize, type Database } from './database.ts'
import { isBusy } from './failure.ts'

const pageBytes = 4_096
/** A process that writes less than this gains nothing from room. */
const leastBytes = 128 * pageBytes
/** SQLite writes the log from its beginning again after 1,000 pages. */
const mostBytes = 1_000 * pageBytes

/**
 * Keeps the write-ahead log of a young process ahead of its commits. A sync that makes a file longer also waits for the file system's own journal, which takes
 * half as long again as a sync that overwrites existing pages. So the file is doubled whenever a commit has made it longer, until SQLite writes it from its
 * beginning again: a few large growths instead of hundreds of small ones.
 */
export class LogRoom {
  readonly #connection: Connection
  #knownBytes = leastBytes
  #isDone = false

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Must not throw: the commit before it is made. */
  afterCommit(db: Database): void {
    if (this.#isDone) return
    try {
      const bytes = this.#bytes()
      if (bytes > this.#knownBytes) {
        grow(db, Math.min(bytes, mostBytes - bytes))
        this.#knownBytes = this.#bytes()
      }
      this.#isDone = this.#knownBytes >= mostBytes
    } catch (error) {
      if (isBusy(error)) return
      this.#isDone = true
      this.#connection.failed(error)
    }
  }

  #bytes(): number {
    return statSync(`${this.#connection.path}-wal`).size
  }
}

/**
 * A transaction larger than the cache goes to the log before its commit, and stays there as unused space when it is rolled back. The lock of the transaction keeps
 * other processes from appending meanwhile.
 */
function grow(db: Database, bytes: number): void {
  if (bytes <= 0) return
  db.run('BEGIN IMMEDIATE')
  try {
    db.exec('PRAGMA cache_size = 10')
    db.run('INSERT INTO blob_bytes (bid, bytes) VALUES (-1, zeroblob(?))', bytes)
  } finally {
    db.rollBack()
    db.exec(cacheSize)
  }
}
