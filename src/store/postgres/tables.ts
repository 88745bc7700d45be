import { secondary } from './columns.ts'

/**
 * Ids sort by their bytes. All values are text that the codec made: jsonb would reorder keys and refuse U+0000.
 * Rows of a conversation must only be written while its row in `conversations` is locked.
 */
export const createTables = (schema: string): string => `
  CREATE SEQUENCE ${schema}.epochs AS bigint;

  -- created_at is 0 while a commit that may create the row is being judged; no other transaction ever sees that.
  CREATE TABLE ${schema}.conversations (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text NOT NULL DEFAULT 'conversation',
    agent text COLLATE "C",
    status text NOT NULL DEFAULT 'idle',
    settings text NOT NULL DEFAULT '{}',
    fsm_state text,
    title text,
    parent text,
    child_of text COLLATE "C",
    last_seq bigint NOT NULL DEFAULT 0,
    wake_at bigint,
    is_dormant boolean NOT NULL DEFAULT false,
    holder text COLLATE "C",
    epoch bigint,
    leased_until bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    -- See StoredAttrs.idleSeq.
    idle_seq bigint NOT NULL DEFAULT 0,
    -- When the lease was claimed, the epochs of the earlier leases that lapsed, and its account. They count for nothing without a holder.
    claimed_at bigint,
    lapsed bigint[],
    account text COLLATE "C",
    owner text COLLATE "C",
    -- The open turn is being cancelled.
    terminating boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, id)
  ) WITH (fillfactor = 80);
  CREATE INDEX conversations_newest ON ${schema}.conversations (tenant ${secondary}, created_at, id ${secondary});
  CREATE INDEX conversations_sessions ON ${schema}.conversations (tenant ${secondary}, created_at, id ${secondary}) WHERE kind = 'flow';
  CREATE INDEX conversations_children ON ${schema}.conversations (tenant ${secondary}, child_of) WHERE child_of IS NOT NULL;
  CREATE INDEX conversations_due ON ${schema}.conversations (wake_at) WHERE wake_at IS NOT NULL;
  -- Finds the forks of a conversation by the encoded parent: see forkParents.
  CREATE INDEX conversations_forks ON ${schema}.conversations (tenant ${secondary}, parent COLLATE "C") WHERE parent IS NOT NULL;
  CREATE INDEX conversations_owned ON ${schema}.conversations (tenant ${secondary}, owner, created_at, id ${secondary})
    WHERE owner IS NOT NULL;
  CREATE INDEX conversations_held ON ${schema}.conversations (holder) WHERE holder IS NOT NULL;

  CREATE TABLE ${schema}.events (
    tenant text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (tenant, conversation_id, seq)
  );

  CREATE TABLE ${schema}.commit_keys (
    tenant text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    digest text COLLATE "C",
    seq bigint NOT NULL,
    -- Of the lease that the commit took, so that it can be repeated with the same answer.
    epoch bigint,
    PRIMARY KEY (tenant, conversation_id, key)
  );

  CREATE TABLE ${schema}.calls (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    executor text NOT NULL,
    status text COLLATE "C" NOT NULL,
    args text NOT NULL,
    result text,
    round bigint NOT NULL,
    kind text NOT NULL,
    prompt text,
    expires_at bigint,
    created_at bigint NOT NULL,
    resolved_at bigint,
    resolved_seq bigint,
    meta text,
    notice text,
    PRIMARY KEY (tenant, id)
  );
  CREATE INDEX calls_of_conversation ON ${schema}.calls (tenant ${secondary}, conversation_id, status);
  CREATE INDEX calls_inbox ON ${schema}.calls (tenant ${secondary}, created_at, id ${secondary}) WHERE status = 'pending';
  CREATE INDEX calls_due ON ${schema}.calls (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;

  CREATE TABLE ${schema}.summaries (
    tenant text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    from_seq bigint NOT NULL,
    to_seq bigint NOT NULL,
    content text NOT NULL,
    version bigint NOT NULL,
    base text,
    PRIMARY KEY (tenant, conversation_id, to_seq)
  );

  CREATE TABLE ${schema}.model_calls (
    tenant text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    turn_ref text COLLATE "C" NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    rendered_context text,
    model text,
    usage text,
    latency_ms bigint,
    status text NOT NULL,
    summary_version bigint,
    evictions text,
    at bigint NOT NULL,
    meta text,
    PRIMARY KEY (tenant, conversation_id, turn_ref, number)
  );

  CREATE TABLE ${schema}.blobs (
    tenant text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    bytes bytea NOT NULL,
    media_type text NOT NULL,
    pins bigint NOT NULL,
    PRIMARY KEY (tenant, hash)
  );
  CREATE TABLE ${schema}.blob_refs (
    tenant text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    first_seq bigint NOT NULL,
    PRIMARY KEY (tenant, conversation_id, hash)
  );
  CREATE INDEX blob_refs_of_blob ON ${schema}.blob_refs (tenant ${secondary}, hash);

  CREATE TABLE ${schema}.snapshots (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    snapshot text NOT NULL,
    PRIMARY KEY (tenant, id)
  );

  -- What is left of a deleted conversation, so that its id is never restored from a snapshot.
  CREATE TABLE ${schema}.tombstones (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (tenant, id)
  );
`
