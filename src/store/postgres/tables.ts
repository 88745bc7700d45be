import { secondary } from './columns.ts'
import { createCommitFunction } from './commit-function.ts'

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
    PRIMARY KEY (tenant, id)
  ) WITH (fillfactor = 80);
  CREATE INDEX conversations_newest ON ${schema}.conversations (tenant ${secondary}, created_at, id ${secondary});
  CREATE INDEX conversations_children ON ${schema}.conversations (tenant ${secondary}, child_of) WHERE child_of IS NOT NULL;
  CREATE INDEX conversations_due ON ${schema}.conversations (wake_at) WHERE wake_at IS NOT NULL;
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
`

/** Deletes a conversation with all its rows, and each blob whose last reference goes with it. */
export const createDeleteFunctions = (schema: string): string => `
  -- The caller has locked the conversations, so nothing is added to them meanwhile.
  CREATE FUNCTION ${schema}.delete_locked(p_tenant text, p_ids text[], p_spares_pinned boolean)
  RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    v_hashes text[];
    v_count bigint;
  BEGIN
    DELETE FROM ${schema}.events t WHERE t.tenant = p_tenant AND t.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.commit_keys t WHERE t.tenant = p_tenant AND t.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.calls t WHERE t.tenant ${secondary} = p_tenant AND t.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.summaries t WHERE t.tenant = p_tenant AND t.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.model_calls t WHERE t.tenant = p_tenant AND t.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.snapshots t WHERE t.tenant = p_tenant AND t.id = ANY (p_ids);

    SELECT array_agg(DISTINCT r.hash) INTO v_hashes FROM ${schema}.blob_refs r
      WHERE r.tenant = p_tenant AND r.conversation_id = ANY (p_ids);
    PERFORM 1 FROM ${schema}.blobs b WHERE b.tenant = p_tenant AND b.hash = ANY (v_hashes) ORDER BY b.hash FOR UPDATE;
    DELETE FROM ${schema}.blob_refs r WHERE r.tenant = p_tenant AND r.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.blobs b
      WHERE b.tenant = p_tenant AND b.hash = ANY (v_hashes) AND (b.pins = 0 OR NOT p_spares_pinned)
        AND NOT EXISTS (SELECT 1 FROM ${schema}.blob_refs r WHERE r.tenant ${secondary} = p_tenant AND r.hash = b.hash);

    DELETE FROM ${schema}.conversations c WHERE c.tenant = p_tenant AND c.id = ANY (p_ids);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
  END $$;

  CREATE FUNCTION ${schema}.delete_conversation(p_tenant text, p_id text) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    v_locked text[] := ARRAY[p_id];
    v_family text[];
  BEGIN
    LOOP
      PERFORM 1 FROM ${schema}.conversations c
        WHERE c.tenant = p_tenant AND c.id = ANY (v_locked) ORDER BY c.id FOR UPDATE;
      WITH RECURSIVE family (id) AS (
        SELECT c.id FROM ${schema}.conversations c WHERE c.tenant = p_tenant AND c.id = p_id
        UNION
        SELECT c.id FROM family f JOIN ${schema}.conversations c
          ON c.tenant ${secondary} = p_tenant AND c.child_of = f.id
      )
      SELECT coalesce(array_agg(f.id), '{}') INTO v_family FROM family f;
      EXIT WHEN v_family <@ v_locked;
      v_locked := v_family;
    END LOOP;
    DELETE FROM ${schema}.snapshots t WHERE t.tenant = p_tenant AND t.id = p_id;
    RETURN ${schema}.delete_locked(p_tenant, v_family, true);
  END $$;

  CREATE FUNCTION ${schema}.delete_tenant(p_tenant text) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    v_ids text[];
  BEGIN
    SELECT coalesce(array_agg(l.id), '{}') INTO v_ids FROM (
      SELECT c.id FROM ${schema}.conversations c WHERE c.tenant = p_tenant ORDER BY c.id FOR UPDATE
    ) l;
    DELETE FROM ${schema}.snapshots t WHERE t.tenant = p_tenant;
    -- Blobs without references; the others go with the conversations.
    DELETE FROM ${schema}.blobs b WHERE b.tenant = p_tenant
      AND NOT EXISTS (SELECT 1 FROM ${schema}.blob_refs r WHERE r.tenant ${secondary} = p_tenant AND r.hash = b.hash);
    RETURN ${schema}.delete_locked(p_tenant, v_ids, false);
  END $$;
`

/** Finds the forks of a conversation by the encoded parent: see `forkParents`. */
export const indexForks = (schema: string): string => `
  CREATE INDEX conversations_forks ON ${schema}.conversations (tenant ${secondary}, parent COLLATE "C") WHERE parent IS NOT NULL;
`

/** The function takes `p_expected_at`, with a default, so that nodes of an earlier version keep working during a rolling deploy. */
export const expectTimes = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/** The function takes `p_expected_agent`, with a default, so that nodes of an earlier version keep working during a rolling deploy. */
export const expectAgents = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/**
 * A commit that took the lease can be repeated with the same answer: its key is stored with the epoch it got. Nodes of an earlier version leave the epoch null,
 * and their repeats return no lease, as before.
 */
export const keysWithEpochs = (schema: string): string => `
  ALTER TABLE ${schema}.commit_keys ADD COLUMN epoch bigint;
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/** The function takes `p_needs_free`, with a default, so that nodes of an earlier version keep working during a rolling deploy. */
export const refuseOwned = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/** See `StoredAttrs.idleSeq`. Nodes of an earlier version do not update it; a message is then planned on the log. */
export const idleSeq = (schema: string): string => `
  ALTER TABLE ${schema}.conversations ADD COLUMN idle_seq bigint NOT NULL DEFAULT 0;
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/**
 * When each lease was claimed, and the epochs of the earlier leases that lapsed. Both count for nothing without a holder. Nodes of an earlier version do not
 * update them: their claims are not counted, or count as long ago. To them a quarantine is an ordinary lease.
 */
export const rememberLapses = (schema: string): string => `
  ALTER TABLE ${schema}.conversations ADD COLUMN claimed_at bigint, ADD COLUMN lapsed bigint[];
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/** The function looks up each call row by its primary key. Its parameters are unchanged. */
export const findCallsById = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`
