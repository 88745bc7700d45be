import { StoreError } from '../../base/errors/store-errors.ts'
import { mostActs, type SteeringDriver, type StoredAct, type StoredPause } from '../steering.ts'
import { arrayLiteral, nowMs, pauses } from './columns.ts'
import type { Database } from './database.ts'

/** What is paused, and who steered what. `commit_changes` gives no lease on what is paused. */
export const createSteering = (schema: string): string => `
  CREATE TABLE ${schema}.steering_acts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    act text NOT NULL,
    kind text NOT NULL,
    tenant text NOT NULL,
    name text NOT NULL,
    who text NOT NULL,
    at bigint NOT NULL,
    reason text
  );
  CREATE TABLE ${schema}.pauses (
    kind text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    who text NOT NULL,
    at bigint NOT NULL,
    reason text,
    PRIMARY KEY (kind, tenant, name)
  );
  CREATE UNIQUE INDEX pauses_by_age ON ${schema}.pauses (id);

  CREATE FUNCTION ${schema}.record_act(p_act text, p_kind text, p_tenant text, p_name text, p_who text, p_reason text)
  RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE v_id bigint;
  BEGIN
    INSERT INTO ${schema}.steering_acts (act, kind, tenant, name, who, at, reason)
      VALUES (p_act, p_kind, p_tenant, p_name, p_who, ${nowMs}, p_reason) RETURNING id INTO v_id;
    -- Counted, because a crash leaves a gap in the ids.
    DELETE FROM ${schema}.steering_acts a
      WHERE a.id < (SELECT b.id FROM ${schema}.steering_acts b ORDER BY b.id DESC OFFSET ${mostActs - 1} LIMIT 1);
    RETURN v_id;
  END $$;

  CREATE FUNCTION ${schema}.pause(p_kind text, p_tenant text, p_name text, p_who text, p_reason text, p_lock_ms integer)
  RETURNS ${schema}.pauses LANGUAGE plpgsql AS $$
  DECLARE v_pause ${schema}.pauses;
  BEGIN
    -- One at a time.
    PERFORM pg_advisory_xact_lock(hashtextextended('perdure pauses of ${schema.replaceAll("'", "''")}', 0));
    SELECT * INTO v_pause FROM ${schema}.pauses p WHERE p.kind = p_kind AND p.tenant = p_tenant AND p.name = p_name;
    IF FOUND THEN RETURN v_pause; END IF;
    IF p_kind = 'conversation' THEN
      -- Locked, so that a deletion comes before and is seen, or after and takes the pause along.
      PERFORM 1 FROM ${schema}.conversations c WHERE c.tenant = p_tenant AND c.id = p_name FOR SHARE;
      IF NOT FOUND THEN RETURN NULL; END IF;
    END IF;
    INSERT INTO ${schema}.pauses (kind, tenant, name, id, who, at, reason)
      VALUES (p_kind, p_tenant, p_name, ${schema}.record_act('pause', p_kind, p_tenant, p_name, p_who, p_reason), p_who, ${nowMs}, p_reason)
      RETURNING * INTO v_pause;
    -- A statement locks its tables before it takes its snapshot. So what began without knowing the pause has ended from here on, and what begins later knows it.
    PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
    LOCK TABLE ${schema}.conversations IN SHARE ROW EXCLUSIVE MODE;
    RETURN v_pause;
  END $$;
`

const columns = 'id, kind, tenant, name, who, at, reason'

/**
 * How long each attempt to pause waits for the commits and claims under way. New ones wait for the attempt, so it gives up soon and starts again. The last
 * attempt is longer than Postgres needs to end an automatic vacuum that is in the way.
 */
const lockTimeoutsMs = [100, 100, 100, 100, 100, 2_500]

/** Each verb is one statement, so one transaction. */
export function postgresSteering(database: Database): SteeringDriver {
  const statements = steeringStatements(database.schema)
  return {
    async pause({ kind, tenant, name }, { who, reason }) {
      for (const [attempt, lockMs] of lockTimeoutsMs.entries()) {
        try {
          const [pause] = await database.run<StoredPause>(statements.pause, [
            kind,
            tenant,
            name,
            who,
            reason ?? null,
            lockMs,
          ])
          return pause ?? null
        } catch (error) {
          if (attempt === lockTimeoutsMs.length - 1 || !isLockTimeout(error)) throw error
        }
      }
      return null
    },
    async resume({ kind, tenant, name }, { who, reason }) {
      const values = [kind, tenant, name, who, reason ?? null]
      return (await database.run(statements.resume, values, 'reject')).length > 0
    },
    pauses: ({ before, limit }) => database.run<StoredPause>(statements.pauses, [before ?? null, limit]),
    async pausesOf(rows) {
      const values = (['tenant', 'id', 'agent'] as const).map((column) => arrayLiteral(rows, (row) => row[column]))
      const found = await database.run<StoredPause & { readonly place: number }>(statements.pausesOf, values)
      const byPlace = new Map(found.map(({ place, ...pause }) => [place, pause]))
      return rows.map((_, index) => byPlace.get(index) ?? null)
    },
    acts: ({ before, limit }) => database.run<StoredAct>(statements.acts, [before ?? null, limit]),
  }
}

function steeringStatements(schema: string) {
  return {
    pause: {
      name: 'pause',
      text: `SELECT ${columns} FROM ${schema}.pause($1, $2, $3, $4, $5, $6::integer) WHERE id IS NOT NULL`,
    },
    resume: {
      name: 'resume',
      text: `WITH gone AS (
          DELETE FROM ${schema}.pauses WHERE kind = $1 AND tenant = $2 AND name = $3 RETURNING kind, tenant, name
        ) SELECT ${schema}.record_act('resume', kind, tenant, name, $4, $5) AS id FROM gone`,
    },
    pauses: {
      name: 'pauses',
      text: `SELECT ${columns} FROM ${schema}.pauses WHERE $1::bigint IS NULL OR id < $1 ORDER BY id DESC LIMIT $2`,
    },
    pausesOf: {
      name: 'pauses_of',
      text: `SELECT k.place - 1 AS place, p.* FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY k (tenant, id, agent, place)
        JOIN LATERAL (
          SELECT ${columns} FROM ${schema}.pauses p WHERE ${pauses('k').join(' OR ')} ORDER BY p.id LIMIT 1
        ) p ON true ORDER BY 1`,
    },
    acts: {
      name: 'steering_acts',
      text: `SELECT ${columns}, act FROM ${schema}.steering_acts WHERE $1::bigint IS NULL OR id < $1 ORDER BY id DESC LIMIT $2`,
    },
  }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof StoreError && Object(error.cause).code === '55P03'
}
