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
export const oneAgenda = `
DROP INDEX conversations_due;
DROP INDEX conversations_leased;
CREATE INDEX conversations_agenda ON conversations (lease_holder, agent, wake_at) WHERE wake_at IS NOT NULL OR lease_holder IS NOT NULL;
`

/** A commit that took the lease can be repeated with the same answer: its key is stored with the epoch it got. */
export const keysWithEpochs = `
ALTER TABLE keys ADD COLUMN epoch INTEGER;
`

/** See `StoredAttrs.idleSeq`. Older versions do not update it; a message is then planned on the log. */
export const idleSeq = `
ALTER TABLE conversations ADD COLUMN idle_seq INTEGER NOT NULL DEFAULT 0;
`

/** When each lease was claimed, and the epochs of the earlier leases that lapsed, as a JSON array. Both count for nothing without a holder. */
export const rememberLapses = `
ALTER TABLE conversations ADD COLUMN claimed_at INTEGER;
ALTER TABLE conversations ADD COLUMN lapsed TEXT;
`
