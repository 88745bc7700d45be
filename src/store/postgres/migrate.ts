import type { ClientBase, Pool } from 'pg'
import { SchemaTooNewError, StoreError } from '../../base/errors/store-errors.ts'
import { nowMs, secondary } from './columns.ts'
import { createCommitFunction } from './commit-function.ts'
import { breakingAfter, discard, quoteSchema } from './connection.ts'
import { bulkJobs } from './jobs.ts'
import { limits } from './limit-tables.ts'
import { createNodes } from './nodes.ts'
import { outbox } from './outbox-tables.ts'
import { createSteering } from './steering.ts'

/**
 * Ids sort by their bytes. All values are text that the codec made: jsonb would reorder keys and refuse U+0000.
 * Rows of a conversation must only be written while its row in `conversations` is locked.
 */
const createTables = (schema: string): string => `
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
const createDeleteFunctions = (schema: string): string => `
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
const indexForks = (schema: string): string => `
  CREATE INDEX conversations_forks ON ${schema}.conversations (tenant ${secondary}, parent COLLATE "C") WHERE parent IS NOT NULL;
`

/** The function takes `p_expected_at`, with a default, so that nodes of an earlier version keep working during a rolling deploy. */
const expectTimes = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/** The function takes `p_expected_agent`, with a default, so that nodes of an earlier version keep working during a rolling deploy. */
const expectAgents = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/**
 * A commit that took the lease can be repeated with the same answer: its key is stored with the epoch it got. Nodes of an earlier version leave the epoch null,
 * and their repeats return no lease, as before.
 */
const keysWithEpochs = (schema: string): string => `
  ALTER TABLE ${schema}.commit_keys ADD COLUMN epoch bigint;
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/** The function takes `p_needs_free`, with a default, so that nodes of an earlier version keep working during a rolling deploy. */
const refuseOwned = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/** See `StoredAttrs.idleSeq`. Nodes of an earlier version do not update it; a message is then planned on the log. */
const idleSeq = (schema: string): string => `
  ALTER TABLE ${schema}.conversations ADD COLUMN idle_seq bigint NOT NULL DEFAULT 0;
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/**
 * When each lease was claimed, and the epochs of the earlier leases that lapsed. Both count for nothing without a holder. Nodes of an earlier version do not
 * update them: their claims are not counted, or count as long ago. To them a quarantine is an ordinary lease.
 */
const rememberLapses = (schema: string): string => `
  ALTER TABLE ${schema}.conversations ADD COLUMN claimed_at bigint, ADD COLUMN lapsed bigint[];
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/** The function looks up each call row by its primary key. Its parameters are unchanged. */
const findCallsById = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/**
 * What the application attaches to a call, and to the audit row of a model call. The function takes `c_meta`, with a default, so that nodes of an earlier version
 * keep working during a rolling deploy.
 */
const callMeta = (schema: string): string => `
  ALTER TABLE ${schema}.calls ADD COLUMN meta text;
  ALTER TABLE ${schema}.model_calls ADD COLUMN meta text;
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/**
 * What is left of a deleted conversation, so that its id is never restored from a snapshot. A deletion and a commit that restores the id exclude each other by
 * `tombstone_lock`: there may be no row yet that both could lock. Nodes of an earlier version restore nothing, and delete through these functions.
 */
const tombstones = (schema: string): string => `
  CREATE TABLE ${schema}.tombstones (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (tenant, id)
  );

  CREATE FUNCTION ${schema}.tombstone_lock(p_tenant text, p_id text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('${schema.replaceAll("'", "''")}' || ' ' || p_tenant || ' ' || p_id, 0))
  $$;

  CREATE FUNCTION ${schema}.leave_tombstones(p_tenant text, p_ids text[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO ${schema}.tombstones (tenant, id, at)
      SELECT p_tenant, d.id, n.now FROM (SELECT DISTINCT unnest(p_ids) AS id) d, (SELECT ${nowMs} AS now) n
    ON CONFLICT (tenant, id) DO UPDATE SET at = greatest(tombstones.at, excluded.at)
  $$;

  ALTER FUNCTION ${schema}.delete_locked(text, text[], boolean) RENAME TO delete_rows;
  CREATE FUNCTION ${schema}.delete_locked(p_tenant text, p_ids text[], p_spares_pinned boolean)
  RETURNS bigint LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM ${schema}.leave_tombstones(p_tenant, p_ids);
    RETURN ${schema}.delete_rows(p_tenant, p_ids, p_spares_pinned);
  END $$;

  ALTER FUNCTION ${schema}.delete_conversation(text, text) RENAME TO delete_family;
  CREATE FUNCTION ${schema}.delete_conversation(p_tenant text, p_id text) RETURNS bigint LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM ${schema}.tombstone_lock(p_tenant, p_id);
    PERFORM ${schema}.leave_tombstones(p_tenant, ARRAY[p_id]);
    RETURN ${schema}.delete_family(p_tenant, p_id);
  END $$;
`

/**
 * Who opened each conversation, from the first message or start in its log; a name that JSON escapes is left to `perdure doctor`. The function takes `a_owner`,
 * with a default, so that nodes of an earlier version keep working during a rolling deploy: what they create has no owner until the doctor repairs it.
 */
const owners = (schema: string): string => `
  ALTER TABLE ${schema}.conversations ADD COLUMN owner text COLLATE "C";
  UPDATE ${schema}.conversations c SET owner = (
    SELECT substring(e.content from '"who":"([^"\\\\]{1,85})"(?:,"key":"(?:[^"\\\\]|\\\\.)*"|,"restoredAt":[0-9]+)*\\}$')
    FROM ${schema}.events e
    WHERE e.tenant = c.tenant AND e.conversation_id = c.id AND e.type IN ('user_msg', 'flow_started') ORDER BY e.seq LIMIT 1
  );
  CREATE INDEX conversations_owned ON ${schema}.conversations (tenant ${secondary}, owner, created_at, id ${secondary})
    WHERE owner IS NOT NULL;
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/**
 * What is told of a call beside its prompt. The function takes `c_note`, with a default, so that nodes of an earlier version keep working during a rolling deploy:
 * `perdure doctor` finds what they leave out.
 */
const callNotices = (schema: string): string => `
  ALTER TABLE ${schema}.calls ADD COLUMN notice text;
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`

/** In order. Must never change once released; only append. */
export const migrations: readonly ((schema: string) => string)[] = [
  createTables,
  createCommitFunction,
  createDeleteFunctions,
  indexForks,
  expectTimes,
  expectAgents,
  keysWithEpochs,
  refuseOwned,
  idleSeq,
  rememberLapses,
  findCallsById,
  callMeta,
  tombstones,
  outbox,
  owners,
  callNotices,
  bulkJobs,
  createNodes,
  createSteering,
  limits,
]

type MigrateOptions = {
  readonly schema: string
  readonly answerTimeoutMs: number
  readonly migrateTimeoutMs: number
}

/**
 * Migrates the schema to the version this package knows. Safe when many processes do it at once: one migrates, the others wait, none longer than
 * `migrateTimeoutMs`.
 */
export async function migrate(
  pool: Pool,
  { schema, answerTimeoutMs, migrateTimeoutMs }: MigrateOptions,
): Promise<void> {
  const client = await pool.connect()
  let isHealthy = false
  try {
    const isDone = await breakingAfter(client, answerTimeoutMs, () => isCurrent(client, schema))
    if (!isDone) await breakingAfter(client, migrateTimeoutMs, () => migrateAlone(client, schema))
    isHealthy = true
  } finally {
    if (isHealthy) client.release()
    else discard(client)
  }
}

async function migrateAlone(client: ClientBase, schema: string): Promise<void> {
  const quoted = quoteSchema(schema)
  await client.query('BEGIN')
  // Applies to the new tables too: an open store may write immediately.
  await client.query('SET LOCAL synchronous_commit = on')
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`perdure migrations of ${schema}`])
  await checkEncoding(client)
  if (!(await hasSchema(client, schema))) await client.query(`CREATE SCHEMA ${quoted}`)
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${quoted}.migrations (number integer PRIMARY KEY, applied_at bigint NOT NULL)`,
  )
  for (let number = (await versionOf(client, schema)) + 1; number <= migrations.length; number++) {
    await client.query(migrations[number - 1]!(quoted))
    await client.query(`INSERT INTO ${quoted}.migrations (number, applied_at) VALUES ($1, ${nowMs})`, [number])
  }
  await client.query('COMMIT')
}

async function isCurrent(client: ClientBase, schema: string): Promise<boolean> {
  return (await readSchemaVersion(client, schema)) === migrations.length
}

/** Null when nothing has been migrated yet. Throws when a newer version of this package has migrated it. */
export async function readSchemaVersion(client: ClientBase, schema: string): Promise<number | null> {
  const table = `${quoteSchema(schema)}.migrations`
  const { rows } = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [table])
  return rows[0]?.found === true ? versionOf(client, schema) : null
}

/** Throws when a newer version of this package has migrated it. */
async function versionOf(client: ClientBase, schema: string): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    `SELECT coalesce(max(number), 0) AS version FROM ${quoteSchema(schema)}.migrations`,
  )
  const version = rows[0]?.version ?? 0
  if (version > migrations.length) throw new SchemaTooNewError(version, migrations.length)
  return version
}

async function checkEncoding(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding')
  const encoding = rows[0]?.server_encoding
  if (encoding !== 'UTF8') {
    throw new StoreError(`The database has the encoding ${encoding}, which cannot hold all text. Use one with UTF8.`, {
      retryable: false,
    })
  }
}

/** Checked first, because `CREATE SCHEMA IF NOT EXISTS` needs a permission that a role may lack. */
async function hasSchema(client: ClientBase, schema: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
  return rowCount === 1
}
