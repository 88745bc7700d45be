import type { SteeredBy, StoredTarget } from '../steered-by.ts'
import { mostActs, type PausableRow, type SteeringDriver, type StoredAct, type StoredPause } from '../steering.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'
import type { GroupCommit } from './group-commit.ts'

/** Claims are writes, and writes come one after the other: the first claim after a pause knows it. */
export function sqliteSteering(connection: Connection, commits: GroupCommit): SteeringDriver {
  return {
    pause: (target, by) => commits.write((db) => pause(db, target, by)),
    resume: (target, by) => commits.write((db) => resume(db, target, by)),
    pauses: ({ before, limit }) =>
      connection.read((db) =>
        db.all<StoredPause>(
          `SELECT ${columns} FROM pauses WHERE id < ? ORDER BY id DESC LIMIT ?`,
          before ?? Number.MAX_SAFE_INTEGER,
          limit,
        ),
      ),
    pausesOf: (rows) => connection.read((db) => pausesOf(db, rows)),
    acts: ({ before, limit }) =>
      connection.read((db) =>
        db.all<StoredAct>(
          `SELECT ${columns}, act FROM steering_acts WHERE id < ? ORDER BY id DESC LIMIT ?`,
          before ?? Number.MAX_SAFE_INTEGER,
          limit,
        ),
      ),
  }
}

const columns = 'id, kind, tenant, name, who, at, reason'
const isTarget = 'kind = ? AND tenant = ? AND name = ?'

function pause(db: Database, target: StoredTarget, { who, reason }: SteeredBy): StoredPause | null {
  const { kind, tenant, name } = target
  const known = db.get<StoredPause>(`SELECT ${columns} FROM pauses WHERE ${isTarget}`, kind, tenant, name)
  if (known) return known
  if (kind === 'conversation' && !db.get('SELECT 1 FROM conversations WHERE tenant = ? AND id = ?', tenant, name))
    return null
  const by = reason === undefined ? { who } : { who, reason }
  return db.get<StoredPause>(
    `INSERT INTO pauses (kind, tenant, name, id, who, at, reason) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING ${columns}`,
    ...[kind, tenant, name, recordAct(db, 'pause', target, by), who, Date.now(), reason ?? null],
  )!
}

function resume(db: Database, target: StoredTarget, by: SteeredBy): boolean {
  const { kind, tenant, name } = target
  const isPaused = db.run(`DELETE FROM pauses WHERE ${isTarget}`, kind, tenant, name) > 0
  if (isPaused) recordAct(db, 'resume', target, by)
  return isPaused
}

/** Returns the id of the act. Must be part of the write that the act is. */
export function recordAct(
  db: Database,
  act: StoredAct['act'],
  { kind, tenant, name }: StoredTarget,
  { who, reason }: SteeredBy,
): number {
  const id = db.insert(
    'INSERT INTO steering_acts (act, kind, tenant, name, who, at, reason) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ...[act, kind, tenant, name, who, Date.now(), reason ?? null],
  )
  db.run('DELETE FROM steering_acts WHERE id <= ?', id - mostActs)
  return id
}

export function hasPauses(db: Database): boolean {
  return db.get('SELECT 1 FROM pauses LIMIT 1') !== undefined
}

/** The oldest pause of a conversation or session. */
export function pauseOf(db: Database, { tenant, id, agent }: PausableRow): StoredPause | null {
  if (!hasPauses(db)) return null
  const found = db.get<StoredPause>(
    `SELECT ${columns} FROM pauses WHERE ${isPause('?', '?', '?')} ORDER BY id LIMIT 1`,
    ...[agent, tenant, tenant, id],
  )
  return found ?? null
}

function pausesOf(db: Database, rows: readonly PausableRow[]): (StoredPause | null)[] {
  return db.snapshot(() => rows.map((row) => pauseOf(db, row)))
}

function isPause(agent: string, tenant: string, id: string): string {
  return `((kind = 'agent' AND tenant = '' AND name = ${agent}) OR (kind = 'tenant' AND tenant = ${tenant} AND name = '')
    OR (kind = 'conversation' AND tenant = ${tenant} AND name = ${id}))`
}

/** For a row of `conversations`: an index lookup for each kind of pause. */
export const isNotPaused = `NOT EXISTS (SELECT 1 FROM pauses WHERE kind = 'agent' AND tenant = '' AND name = conversations.agent)
  AND NOT EXISTS (SELECT 1 FROM pauses WHERE kind = 'tenant' AND pauses.tenant = conversations.tenant AND name = '')
  AND NOT EXISTS (SELECT 1 FROM pauses WHERE kind = 'conversation' AND pauses.tenant = conversations.tenant AND name = conversations.id)`

/** Part of a deletion. */
export function forgetPause(db: Database, tenant: string, id: string): void {
  db.run(`DELETE FROM pauses WHERE ${isTarget}`, 'conversation', tenant, id)
}
