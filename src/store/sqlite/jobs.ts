import type { JobDriver, JobFilter, JobRow, JobScan, ScannedConversation } from '../jobs.ts'
import { searchedText } from '../rows.ts'
import { isQuarantined, lastAt } from './columns.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'
import type { GroupCommit } from './group-commit.ts'
import { nextEpoch } from './leases.ts'

type Row = Omit<JobRow, 'cursor'> & { readonly atCreated: number | null; readonly atId: string | null }

const columns = `id, tenant, action, who, spec, state, created_at AS createdAt, finished_at AS finishedAt, done, skipped, failed, report,
  at_created AS atCreated, at_id AS atId`

export function sqliteJobs(connection: Connection, commits: GroupCommit): JobDriver {
  return {
    start: (job, keepMs) => commits.write((db) => start(db, job, keepMs)),
    get: (id) => connection.read((db) => find(db, id)),
    list: ({ before, limit }) =>
      connection.read((db) => {
        const last = before === null ? null : find(db, before)
        if (before !== null && !last) return []
        const place = [last?.createdAt ?? Number.MAX_SAFE_INTEGER, last?.id ?? '']
        const sql = `SELECT ${columns} FROM bulk_jobs WHERE (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?`
        return db.all<Row>(sql, ...place, limit).map(jobOf)
      }),
    stop: (id) => commits.write((db) => stop(db, id)),
    async claim(leaseMs) {
      // Most of the time there is no job, and then nothing is written.
      const isDue = await connection.read((db) => dueJob(db) !== undefined)
      return isDue ? commits.write((db) => claim(db, leaseMs)) : null
    },
    settle: (id, token, progress) => commits.write((db) => settle(db, id, token, progress)),
    scan: (request) => connection.read((db) => scan(db, request)),
  }
}

function find(db: Database, id: string): JobRow | null {
  const row = db.get<Row>(`SELECT ${columns} FROM bulk_jobs WHERE id = ?`, id)
  return row ? jobOf(row) : null
}

function jobOf({ atCreated, atId, ...row }: Row): JobRow {
  return { ...row, cursor: atCreated === null ? null : { createdAt: atCreated, id: atId! } }
}

function start(
  db: Database,
  { id, tenant, action, who, spec }: Parameters<JobDriver['start']>[0],
  keepMs: number,
): JobRow {
  const now = Date.now()
  db.run('DELETE FROM bulk_jobs WHERE finished_at < ?', now - keepMs)
  db.run(
    `INSERT INTO bulk_jobs (id, tenant, action, who, spec, state, created_at) VALUES (?, ?, ?, ?, ?, 'running', ?) ON CONFLICT DO NOTHING`,
    ...[id, tenant, action, who, spec, now],
  )
  return find(db, id)!
}

function stop(db: Database, id: string): boolean {
  const now = Date.now()
  const stopped = db.run(
    `UPDATE bulk_jobs SET state = 'stopped', finished_at = ?, token = NULL, lease_until = NULL
     WHERE id = ? AND finished_at IS NULL AND coalesce(lease_until, 0) <= ?`,
    ...[now, id, now],
  )
  const asked = db.run(`UPDATE bulk_jobs SET state = 'stopping' WHERE id = ? AND finished_at IS NULL`, id)
  return stopped + asked > 0
}

function dueJob(db: Database): { readonly id: string } | undefined {
  const sql = `SELECT id FROM bulk_jobs WHERE finished_at IS NULL AND coalesce(lease_until, 0) <= ? ORDER BY created_at, id LIMIT 1`
  return db.get<{ id: string }>(sql, Date.now())
}

function claim(db: Database, leaseMs: number): Awaited<ReturnType<JobDriver['claim']>> {
  const due = dueJob(db)
  if (!due) return null
  const row = db.get<Row & { token: number; lapses: number }>(
    `UPDATE bulk_jobs SET lapses = lapses + (token IS NOT NULL), token = ?, lease_until = ? WHERE id = ?
     RETURNING ${columns}, token, lapses`,
    ...[nextEpoch(db), Date.now() + leaseMs, due.id],
  )!
  return { ...jobOf(row), token: row.token, lapses: row.lapses }
}

function settle(
  db: Database,
  id: string,
  token: number,
  { done, skipped, failed, report, cursor, leaseMs, end }: Parameters<JobDriver['settle']>[2],
): 'ok' | 'stopping' | 'lost' {
  const now = Date.now()
  const row = db.get<{ state: string }>(
    `UPDATE bulk_jobs SET done = ?, skipped = ?, failed = ?, report = ?, at_created = ?, at_id = ?, lapses = 0,
       token = ?, lease_until = ?, state = coalesce(?, state), finished_at = ?
     WHERE id = ? AND token = ? RETURNING state`,
    ...[done, skipped, failed, report, cursor?.createdAt ?? null, cursor?.id ?? null],
    ...[leaseMs === null ? null : token, leaseMs === null ? null : now + leaseMs, end, end === null ? null : now],
    ...[id, token],
  )
  if (!row) return 'lost'
  return row.state === 'stopping' ? 'stopping' : 'ok'
}

function scan(db: Database, { tenant, filter, at, after, limit }: JobScan): ScannedConversation[] {
  const { sql, values } = matching(filter)
  const rows = db.all<{ id: string; createdAt: number; matches: number }>(
    `SELECT id, created_at AS createdAt, ${sql} AS matches FROM conversations INDEXED BY conversations_by_age
     WHERE tenant = ? AND created_at <= ? AND (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?`,
    ...values,
    ...[tenant, at ?? Date.now(), after?.createdAt ?? Number.MAX_SAFE_INTEGER, after?.id ?? '', limit],
  )
  return rows.map(({ id, createdAt, matches }) => ({ id, createdAt, matches: matches === 1 }))
}

function matching(filter: JobFilter): { readonly sql: string; readonly values: (string | number)[] } {
  const { kind, statuses, agent, owner, text, unchangedSince, isQuarantined: quarantined, isRoot } = filter
  const values: (string | number)[] = []
  const conditions: string[] = []
  const add = (condition: string, ...added: (string | number)[]): void => {
    conditions.push(condition)
    values.push(...added)
  }
  if (kind !== undefined) add('kind = ?', kind)
  if (statuses) add('status IN (SELECT value FROM json_each(?))', JSON.stringify(statuses))
  if (agent !== undefined) add('agent IS ?', agent)
  if (owner !== undefined) add('owner IS ?', owner)
  if (unchangedSince !== undefined) add(`max(updated_at, ${lastAt}) <= ?`, unchangedSince)
  if (quarantined) add(`coalesce(${isQuarantined}, 0)`)
  if (isRoot) add('child_of IS NULL')
  if (text !== undefined) {
    const { inId, inTitle } = searchedText(text)
    add("(instr(lower(id), ?) > 0 OR instr(lower(coalesce(title, '')), ?) > 0)", inId, inTitle)
  }
  return { sql: conditions.length === 0 ? '1' : `(${conditions.join(' AND ')})`, values }
}
