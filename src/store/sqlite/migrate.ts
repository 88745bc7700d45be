import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { SchemaTooNewError, StoreError } from '../../base/errors/store-errors.ts'
import type { Database } from './database.ts'
import { asStoreError, isBusy } from './failure.ts'

/**
 * All JSON is text, written by the codec; the database never looks inside. Events are stored in the order they were written, not by conversation, so that the
 * commits of one group share pages, and a greater `id` means later. Columns that every commit changes come before those that may be long.
 */
export const createTables = `
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('epoch', 0);

CREATE TABLE conversations (
  cid INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  wake_at INTEGER,
  dormant INTEGER NOT NULL,
  lease_holder TEXT,
  lease_epoch INTEGER,
  lease_until INTEGER,
  kind TEXT NOT NULL,
  agent TEXT,
  status TEXT NOT NULL,
  child_of TEXT,
  parent TEXT,
  title TEXT,
  fsm_state TEXT,
  settings TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX conversations_by_id ON conversations (tenant, id);
CREATE INDEX conversations_by_age ON conversations (tenant, created_at, id);
CREATE INDEX conversations_due ON conversations (agent, wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX conversations_leased ON conversations (lease_holder) WHERE lease_holder IS NOT NULL;
CREATE INDEX conversations_children ON conversations (tenant, child_of) WHERE child_of IS NOT NULL;

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  cid INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  content TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_seq ON events (cid, seq);

CREATE TABLE keys (
  cid INTEGER NOT NULL,
  key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  digest TEXT,
  PRIMARY KEY (cid, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE calls (
  rowid INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  call_id TEXT NOT NULL,
  cid INTEGER NOT NULL,
  status TEXT NOT NULL,
  round INTEGER NOT NULL,
  kind TEXT NOT NULL,
  executor TEXT NOT NULL,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,
  resolved_at INTEGER,
  resolved_seq INTEGER,
  name TEXT NOT NULL,
  args TEXT NOT NULL,
  prompt TEXT,
  result TEXT
) STRICT;
CREATE UNIQUE INDEX calls_by_id ON calls (tenant, call_id);
CREATE INDEX calls_of_conversation ON calls (cid, status, created_at, call_id);
CREATE INDEX calls_inbox ON calls (tenant, created_at, call_id) WHERE status = 'pending';
CREATE INDEX calls_deadlines ON calls (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;

CREATE TABLE summaries (
  cid INTEGER NOT NULL,
  to_seq INTEGER NOT NULL,
  from_seq INTEGER NOT NULL,
  version INTEGER NOT NULL,
  content TEXT NOT NULL,
  base TEXT
) STRICT;
CREATE UNIQUE INDEX summaries_by_seq ON summaries (cid, to_seq);

CREATE TABLE model_calls (
  id INTEGER PRIMARY KEY,
  cid INTEGER NOT NULL,
  turn_ref TEXT NOT NULL,
  at INTEGER NOT NULL,
  latency_ms INTEGER,
  summary_version INTEGER,
  status TEXT NOT NULL,
  model TEXT,
  usage TEXT,
  evictions TEXT,
  rendered_context TEXT
) STRICT;
CREATE INDEX model_calls_by_turn ON model_calls (cid, turn_ref);

CREATE TABLE blobs (
  bid INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  hash TEXT NOT NULL,
  media_type TEXT NOT NULL,
  pins INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX blobs_by_hash ON blobs (tenant, hash);
CREATE TABLE blob_bytes (
  bid INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;
CREATE TABLE blob_refs (
  cid INTEGER NOT NULL,
  bid INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  PRIMARY KEY (cid, bid)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_refs_by_blob ON blob_refs (bid);

CREATE TABLE snapshots (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  snapshot TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX snapshots_by_id ON snapshots (tenant, id);
`

/** Finds the forks of a conversation by the encoded parent: see `forkParents`. */
export const indexForks = `
CREATE INDEX conversations_forks ON conversations (tenant, parent) WHERE parent IS NOT NULL;
`

/**
 * One index for wake-ups and leases: most commits that change one also change the other, and so write one page for both. The holder comes first: conversations
 * without a holder are found by their time, and held ones are few.
 */
const oneAgenda = `
DROP INDEX conversations_due;
DROP INDEX conversations_leased;
CREATE INDEX conversations_agenda ON conversations (lease_holder, agent, wake_at) WHERE wake_at IS NOT NULL OR lease_holder IS NOT NULL;
`

/** A commit that took the lease can be repeated with the same answer: its key is stored with the epoch it got. */
const keysWithEpochs = `
ALTER TABLE keys ADD COLUMN epoch INTEGER;
`

/** See `StoredAttrs.idleSeq`. Older versions do not update it; a message is then planned on the log. */
const idleSeq = `
ALTER TABLE conversations ADD COLUMN idle_seq INTEGER NOT NULL DEFAULT 0;
`

/** When each lease was claimed, and the epochs of the earlier leases that lapsed, as a JSON array. Both count for nothing without a holder. */
const rememberLapses = `
ALTER TABLE conversations ADD COLUMN claimed_at INTEGER;
ALTER TABLE conversations ADD COLUMN lapsed TEXT;
`

/** What the application attaches to a call, and to the audit row of a model call. */
const callMeta = `
ALTER TABLE calls ADD COLUMN meta TEXT;
ALTER TABLE model_calls ADD COLUMN meta TEXT;
`

/** What is left of a deleted conversation, so that its id is never restored from a snapshot. */
const tombstones = `
CREATE TABLE tombstones (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
`

/**
 * What subscribers are told. The rows are written by a trigger that exists only while there are subscribers (`outbox.ts`), so that without them a commit costs
 * nothing. `outbox_lines` has one row for each subscriber and conversation with rows in `outbox`: it is what is claimed.
 */
const outbox = `
CREATE TABLE subscribers (
  name TEXT PRIMARY KEY,
  agent TEXT,
  claimed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE subscriptions (
  type TEXT NOT NULL,
  subscriber TEXT NOT NULL,
  PRIMARY KEY (type, subscriber)
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox (
  cid INTEGER NOT NULL,
  subscriber TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (cid, subscriber, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox_lines (
  cid INTEGER NOT NULL,
  subscriber TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  token INTEGER,
  PRIMARY KEY (cid, subscriber)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_lines_due ON outbox_lines (subscriber, due_at);
CREATE TABLE outbox_failed (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  cid INTEGER NOT NULL,
  subscriber TEXT NOT NULL,
  seq INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  failed_at INTEGER NOT NULL,
  error TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX outbox_failed_by_event ON outbox_failed (cid, subscriber, seq);
CREATE INDEX outbox_failed_by_subscriber ON outbox_failed (subscriber, id);
`

/**
 * Who opened each conversation, from the first message or start in its log. Older versions do not write it: `perdure doctor` finds what they leave out. The index
 * is for the lists of one owner.
 */
const owners = `
ALTER TABLE conversations ADD COLUMN owner TEXT;
UPDATE conversations SET owner = (
  SELECT CASE WHEN json_valid(content) AND json_type(content, '$.who') = 'text' THEN json_extract(content, '$.who') END
  FROM events WHERE events.cid = conversations.cid AND type IN ('user_msg', 'flow_started') ORDER BY seq LIMIT 1
);
UPDATE conversations SET owner = NULL WHERE length(owner) NOT BETWEEN 1 AND 85 OR instr(owner, char(0)) > 0
  OR owner GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*';
CREATE INDEX conversations_by_owner ON conversations (tenant, owner, created_at, id) WHERE owner IS NOT NULL;
`

/** What is told of a call beside its prompt. Older versions do not write it: `perdure doctor` finds what they leave out. */
const callNotices = `
ALTER TABLE calls ADD COLUMN notice TEXT;
`

/** One row for each job. There are few: jobs that ended are removed when another one starts. */
const bulkJobs = `
CREATE TABLE bulk_jobs (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  action TEXT NOT NULL,
  who TEXT NOT NULL,
  spec TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  done INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  report TEXT,
  at_created INTEGER,
  at_id TEXT,
  token INTEGER,
  lease_until INTEGER,
  lapses INTEGER NOT NULL DEFAULT 0
) STRICT;
`

/** Which processes there are: see `Nodes`. */
const nodes = `
CREATE TABLE nodes (
  holder TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  works INTEGER NOT NULL,
  capacity INTEGER NOT NULL,
  agents TEXT NOT NULL,
  agent_count INTEGER NOT NULL,
  every_ms INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  forgotten_at INTEGER NOT NULL,
  drain_who TEXT,
  drain_at INTEGER,
  drain_reason TEXT,
  drain_ms INTEGER
) STRICT, WITHOUT ROWID;
`

/** What is paused, and who steered what: see `Steering`. */
const steering = `
CREATE TABLE pauses (
  kind TEXT NOT NULL,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  id INTEGER NOT NULL,
  who TEXT NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT,
  PRIMARY KEY (kind, tenant, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX pauses_by_age ON pauses (id);
CREATE TABLE steering_acts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  act TEXT NOT NULL,
  kind TEXT NOT NULL,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  who TEXT NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT
) STRICT;
`

/** The schema version is the number of migrations that have run. Must only be appended to. */
/**
 * Limits count leases, and work is found by agent and tenant. `account`: of the lease, and counts for nothing without one. `terminating`: the open turn is being
 * cancelled. Older versions do not update it; their cancels then wait for a slot like messages do.
 */
const limits = `
ALTER TABLE conversations ADD COLUMN account TEXT;
ALTER TABLE conversations ADD COLUMN terminating INTEGER NOT NULL DEFAULT 0;
DROP INDEX conversations_agenda;
CREATE INDEX conversations_agenda ON conversations (lease_holder, agent, tenant, wake_at) WHERE wake_at IS NOT NULL OR lease_holder IS NOT NULL;
CREATE INDEX conversations_passing ON conversations (wake_at)
  WHERE wake_at IS NOT NULL AND (terminating = 1 OR child_of IS NOT NULL OR kind = 'flow');
CREATE TABLE accounts (
  name TEXT PRIMARY KEY,
  budget TEXT NOT NULL
) WITHOUT ROWID;
`

const migrations: readonly string[] = [
  createTables,
  indexForks,
  oneAgenda,
  keysWithEpochs,
  idleSeq,
  rememberLapses,
  callMeta,
  tombstones,
  outbox,
  owners,
  callNotices,
  bulkJobs,
  nodes,
  steering,
  limits,
]

export const knownVersion = migrations.length

/**
 * Migrates the file to the current schema. Of several processes that open it at once, one migrates and the others find it done. True when the file was
 * empty: everything in it is then synced.
 */
export function migrate(db: Database, path: string): boolean {
  if (versionOf(db, path) === knownVersion) return false
  db.run('BEGIN IMMEDIATE')
  try {
    const version = versionOf(db, path)
    if (version < knownVersion) {
      for (const script of migrations.slice(version)) db.exec(script)
      db.exec(`PRAGMA user_version = ${knownVersion}`)
    }
    // Durable from here: the whole schema. A crash before this point leaves the old one untouched.
    db.run('COMMIT')
    return version === 0
  } catch (error) {
    db.rollBack()
    throw error
  }
}

function versionOf(db: Database, path: string): number {
  const version = ownVersion((sql) => db.get(sql), path)
  if (version > knownVersion) throw new SchemaTooNewError(version, knownVersion)
  return version
}

/** Runs a query on the file; both a `Database` and a raw SQLite connection can provide it. */
type Ask = <Row>(sql: string) => Row | undefined

/** The version of the schema; 0 when the file is empty. Throws when the file belongs to another program: a version number alone proves nothing. */
function ownVersion(ask: Ask, path: string): number {
  const { user_version: version } = ask<{ user_version: number }>('PRAGMA user_version')!
  const { application_id: mark } = ask<{ application_id: number }>('PRAGMA application_id')!
  const first = ask<{ type: string; name: string }>('SELECT type, name FROM sqlite_master LIMIT 1')
  const own = ask<{ n: number }>(
    `SELECT count(*) AS n FROM sqlite_master WHERE type = 'table' AND name IN (${names})`,
  )!.n
  const isEmpty = version === 0 && mark === 0 && first === undefined
  if (isEmpty || (version > 0 && mark === 0 && own === firstTables.length)) return version
  const what = first ? `it has a ${first.type} '${first.name}'` : `it is marked with ${mark}, version ${version}`
  throw new StoreError(`'${path}' is a database of another program (${what}). Give the store a file of its own.`, {
    retryable: false,
  })
}

/** The tables of the first migration, which every file of Perdure has. */
const firstTables = [
  'meta',
  'conversations',
  'events',
  'keys',
  'calls',
  'summaries',
  'model_calls',
  'blobs',
  'snapshots',
]
const names = firstTables.map((name) => `'${name}'`).join(', ')

/** Reads the version of a file without changing it or the files beside it: no change of mode, no checkpoint, no rollback. Null when there is no file. */
function peekVersion(path: string, timeoutMs = 0): number | null {
  if (!existsSync(path)) return null
  const db = openUntouched(path, timeoutMs)
  try {
    return ownVersion(<Row>(sql: string) => db.prepare(sql).get() as Row | undefined, path)
  } finally {
    db.close()
  }
}

/** Throws when the file belongs to another program. If it cannot be read this way, the open that follows reports the error. */
export function refuseForeignFile(path: string): void {
  try {
    peekVersion(path)
  } catch (error) {
    if (error instanceof StoreError || isBusy(error)) throw error
  }
}

function openUntouched(path: string, timeout: number): DatabaseSync {
  // Content that is only in a log is read through it. Without a log, a read-only connection would leave an empty one behind, and a writable one would roll back
  // what another program has to.
  if (existsSync(`${path}-wal`)) return new DatabaseSync(path, { readOnly: true, timeout })
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  try {
    return new DatabaseSync(url, { readOnly: true, timeout })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_INVALID_ARG_TYPE') throw error
    // The oldest supported Node takes no URLs. A writable connection removes its log when it closes.
    return new DatabaseSync(path, { timeout })
  }
}

/** The schema version of the file, read without changing it. Null when there is no file. */
export function readSchemaVersion(path: string): number | null {
  try {
    const version = peekVersion(path, 1_000)
    if (version !== null && version > knownVersion) throw new SchemaTooNewError(version, knownVersion)
    return version
  } catch (error) {
    throw asStoreError(error, path)
  }
}
