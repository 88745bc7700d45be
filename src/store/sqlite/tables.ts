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

-- lapsed: the epochs of the earlier leases that lapsed, as a JSON array. claimed_at, lapsed and account count for nothing without a holder.
-- terminating: the open turn is being cancelled. idle_seq: see StoredAttrs.idleSeq.
CREATE TABLE conversations (
  cid INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  wake_at INTEGER,
  dormant INTEGER NOT NULL,
  terminating INTEGER NOT NULL DEFAULT 0,
  idle_seq INTEGER NOT NULL DEFAULT 0,
  lease_holder TEXT,
  lease_epoch INTEGER,
  lease_until INTEGER,
  claimed_at INTEGER,
  lapsed TEXT,
  account TEXT,
  kind TEXT NOT NULL,
  agent TEXT,
  owner TEXT,
  status TEXT NOT NULL,
  child_of TEXT,
  parent TEXT,
  title TEXT,
  fsm_state TEXT,
  settings TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX conversations_by_id ON conversations (tenant, id);
CREATE INDEX conversations_by_age ON conversations (tenant, created_at, id);
CREATE INDEX conversations_by_owner ON conversations (tenant, owner, created_at, id) WHERE owner IS NOT NULL;
CREATE INDEX conversations_sessions ON conversations (tenant, created_at, id) WHERE kind = 'flow';
CREATE INDEX conversations_children ON conversations (tenant, child_of) WHERE child_of IS NOT NULL;
-- Finds the forks of a conversation by the encoded parent: see forkParents.
CREATE INDEX conversations_forks ON conversations (tenant, parent) WHERE parent IS NOT NULL;
-- One index for wake-ups and leases: most commits that change one also change the other, and so write one page for both. The holder comes first: conversations
-- without a holder are found by their time, and held ones are few.
CREATE INDEX conversations_agenda ON conversations (lease_holder, agent, tenant, wake_at) WHERE wake_at IS NOT NULL OR lease_holder IS NOT NULL;
CREATE INDEX conversations_passing ON conversations (wake_at)
  WHERE wake_at IS NOT NULL AND (terminating = 1 OR child_of IS NOT NULL OR kind = 'flow');

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  cid INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  content TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_seq ON events (cid, seq);

-- epoch: of the lease that the commit took, so that it can be repeated with the same answer.
CREATE TABLE keys (
  cid INTEGER NOT NULL,
  key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  digest TEXT,
  epoch INTEGER,
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
  result TEXT,
  notice TEXT,
  meta TEXT
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
  rendered_context TEXT,
  meta TEXT
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

-- What is left of a deleted conversation, so that its id is never restored from a snapshot.
CREATE TABLE tombstones (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- What subscribers are told. The rows are written by a trigger that exists only while there are subscribers (outbox.ts), so that without them a commit costs
-- nothing. outbox_lines has one row for each subscriber and conversation with rows in outbox: it is what is claimed.
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

-- One row for each job. There are few: jobs that ended are removed when another one starts.
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

-- Which processes there are: see Nodes.
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

-- What is paused, and who steered what: see Steering.
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

CREATE TABLE accounts (
  name TEXT PRIMARY KEY,
  budget TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
