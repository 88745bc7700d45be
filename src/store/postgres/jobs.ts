import type { JobDriver, JobFilter, JobRow, ScannedConversation } from '../jobs.ts'
import { searchedText } from '../rows.ts'
import { isQuarantined, nowMs, secondary } from './columns.ts'
import type { Database, Statement } from './database.ts'

/** One row for each job. There are few: jobs that ended are removed when another one starts. */
export const bulkJobs = (schema: string): string => `
  CREATE TABLE ${schema}.bulk_jobs (
    id text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    action text NOT NULL,
    who text NOT NULL,
    spec text NOT NULL,
    state text NOT NULL,
    created_at bigint NOT NULL,
    finished_at bigint,
    done bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    report text,
    at_created bigint,
    at_id text COLLATE "C",
    token bigint,
    lease_until bigint,
    lapses bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 80);
`

type Row = Omit<JobRow, 'cursor'> & { readonly atCreated: number | null; readonly atId: string | null }

const columns = `j.id, j.tenant, j.action, j.who, j.spec, j.state, j.created_at AS "createdAt", j.finished_at AS "finishedAt",
  j.done, j.skipped, j.failed, j.report, j.at_created AS "atCreated", j.at_id AS "atId"`

export function postgresJobs(database: Database): JobDriver {
  const { schema } = database
  const statements = jobStatements(`${schema}.bulk_jobs`, schema)
  const first = async (statement: Statement, values: readonly unknown[]): Promise<JobRow | null> => {
    const [row] = await database.run<Row>(statement, values)
    return row ? jobOf(row) : null
  }
  return {
    async start({ id, tenant, action, who, spec }, keepMs) {
      await database.run(statements.start, [id, tenant, action, who, spec, keepMs])
      return (await first(statements.get, [id]))!
    },
    get: (id) => first(statements.get, [id]),
    async list({ before, limit }) {
      return (await database.run<Row>(statements.list, [before, limit])).map(jobOf)
    },
    async stop(id) {
      return (await database.run(statements.stop, [id])).length > 0
    },
    // Not repeated when the answer is lost: the job is due again when its lease ends.
    async claim(leaseMs) {
      const [row] = await database.run<Row & { token: number; lapses: number }>(statements.claim, [leaseMs], 'reject')
      return row ? { ...jobOf(row), token: row.token, lapses: row.lapses } : null
    },
    async settle(id, token, { done, skipped, failed, report, cursor, leaseMs, end }) {
      const counts = [done, skipped, failed, report, cursor?.createdAt ?? null, cursor?.id ?? null]
      const [row] = await database.run<{ state: string }>(
        statements.settle,
        [id, token, ...counts, leaseMs, end],
        'reject',
      )
      if (!row) return 'lost'
      return row.state === 'stopping' ? 'stopping' : 'ok'
    },
    async scan({ tenant, filter, at, after, limit }) {
      const { name, sql, values } = matching(filter, 6)
      const text = `SELECT id, created_at AS "createdAt", coalesce(${sql}, false) AS matches FROM ${schema}.conversations c
        WHERE tenant ${secondary} = $1 AND created_at <= coalesce($2::bigint, ${nowMs})
          AND ($3::bigint IS NULL OR (created_at, id ${secondary}) < ($3::bigint, $4::text))
        ORDER BY created_at DESC, id ${secondary} DESC LIMIT $5`
      const place = [tenant, at, after?.createdAt ?? null, after?.id ?? null, limit]
      return database.run<ScannedConversation>({ name: `job_scan${name}`, text }, [...place, ...values])
    },
  }
}

function jobOf({ atCreated, atId, ...row }: Row): JobRow {
  return { ...row, cursor: atCreated === null ? null : { createdAt: atCreated, id: atId! } }
}

function jobStatements(jobs: string, schema: string) {
  return {
    start: {
      name: 'job_start',
      text: `WITH gone AS (DELETE FROM ${jobs} WHERE finished_at < ${nowMs} - $6 AND id <> $1)
        INSERT INTO ${jobs} (id, tenant, action, who, spec, state, created_at) VALUES ($1, $2, $3, $4, $5, 'running', ${nowMs})
        ON CONFLICT (id) DO NOTHING`,
    },
    get: { name: 'job', text: `SELECT ${columns} FROM ${jobs} j WHERE id = $1` },
    list: {
      name: 'job_list',
      text: `SELECT ${columns} FROM ${jobs} j
        WHERE $1::text IS NULL OR (j.created_at, j.id) < (SELECT b.created_at, b.id FROM ${jobs} b WHERE b.id = $1)
        ORDER BY j.created_at DESC, j.id DESC LIMIT $2`,
    },
    stop: {
      name: 'job_stop',
      text: `UPDATE ${jobs} SET
          state = CASE WHEN lease_until > ${nowMs} THEN 'stopping' ELSE 'stopped' END,
          finished_at = CASE WHEN lease_until > ${nowMs} THEN NULL ELSE ${nowMs} END,
          token = CASE WHEN lease_until > ${nowMs} THEN token END
        WHERE id = $1 AND finished_at IS NULL RETURNING id`,
    },
    claim: {
      name: 'job_claim',
      text: `UPDATE ${jobs} j SET token = nextval('${schema}.epochs'), lease_until = ${nowMs} + $1,
          lapses = j.lapses + (j.token IS NOT NULL)::int
        FROM (SELECT id FROM ${jobs} WHERE finished_at IS NULL AND (lease_until IS NULL OR lease_until <= ${nowMs})
          ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED) due
        WHERE j.id = due.id RETURNING ${columns}, j.token, j.lapses`,
    },
    settle: {
      name: 'job_settle',
      text: `UPDATE ${jobs} SET done = $3, skipped = $4, failed = $5, report = $6, at_created = $7, at_id = $8, lapses = 0,
          token = CASE WHEN $9::bigint IS NULL THEN NULL ELSE token END, lease_until = ${nowMs} + $9::bigint,
          state = coalesce($10::text, state), finished_at = CASE WHEN $10::text IS NULL THEN NULL ELSE ${nowMs} END
        WHERE id = $1 AND token = $2 RETURNING state`,
    },
  }
}

/** One statement for each combination of conditions. Values begin at `$from`. */
function matching(
  { kind, statuses, agent, owner, text, unchangedSince, isQuarantined: quarantined, isRoot }: JobFilter,
  from: number,
): { readonly name: string; readonly sql: string; readonly values: unknown[] } {
  const values: unknown[] = []
  const names: string[] = []
  const conditions: string[] = []
  const add = (name: string, condition: (first: number) => string, ...added: unknown[]): void => {
    names.push(`_${name}`)
    conditions.push(condition(from + values.length))
    values.push(...added)
  }
  if (kind !== undefined) add('kind', (n) => `kind = $${n}`, kind)
  if (statuses) add('status', (n) => `status = ANY ($${n}::text[])`, statuses)
  if (agent !== undefined) add('agent', (n) => `agent = $${n}`, agent)
  if (owner !== undefined) add('owner', (n) => `owner = $${n}`, owner)
  if (unchangedSince !== undefined) add('since', (n) => `updated_at <= $${n}`, unchangedSince)
  if (quarantined) add('quarantined', () => isQuarantined)
  if (isRoot) add('root', () => 'child_of IS NULL')
  if (text !== undefined) {
    const { inId, inTitle } = searchedText(text)
    const found = (column: string, n: number) => `strpos(lower(${column} COLLATE "C"), $${n}::text) > 0`
    add('text', (n) => `(${found('id', n)} OR coalesce(${found('title', n + 1)}, false))`, inId, inTitle)
  }
  return { name: names.join(''), sql: conditions.length === 0 ? 'true' : `(${conditions.join(' AND ')})`, values }
}
