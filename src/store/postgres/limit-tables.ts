import { quarantineHolder } from '../lease.ts'
import { isNotPaused, isSuspect, isTenantPaused, nowMs } from './columns.ts'

/** For a row under the alias c: sessions, children and turns that are being cancelled are under no limit. */
const passes = "(c.terminating OR c.child_of IS NOT NULL OR c.kind = 'flow')"

/** Whether the row with the alias `c` holds a slot. Uses the index of held rows, which has a row for each place on all nodes. */
export const holdsSlot = `c.holder IS NOT NULL AND c.holder <> '${quarantineHolder}' AND c.leased_until > ${nowMs} AND c.kind = 'conversation'`

/** The agent and the tenant as one value. Names have no control characters, so the tenants of an agent are next to each other, and in their order. */
const line = (agent: string, tenant: string): string => `(${agent} || E'\\n' || ${tenant})`

/** The most tenants that a search steps over for each agent, one after the other. */
const mostSteps = 5_000
/** About the most rows that a search reads of each agent before it chooses among them. */
const mostRows = 4_096

/**
 * Limits count leases, and due work is found by agent and tenant. The indices have expressions that no other has, so that they are used also while the table has no
 * statistics.
 */
export const limits = (schema: string): string => `
  CREATE INDEX conversations_waiting ON ${schema}.conversations ((${line('agent', 'tenant')}), (wake_at + 0))
    WHERE wake_at IS NOT NULL AND holder IS NULL;
  CREATE INDEX conversations_passing ON ${schema}.conversations ((wake_at - 0))
    WHERE wake_at IS NOT NULL AND (terminating OR child_of IS NOT NULL OR kind = 'flow');
  CREATE TABLE ${schema}.accounts (name text COLLATE "C" PRIMARY KEY, budget text NOT NULL);
  ${reachedLimit(schema)}
  ${waitingTenants(schema)}
  ${fairDue(schema)}
  ${claimWithin(schema)}
`

/**
 * Claims under limits wait for each other, so that two of them do not count the same free slot. A claim that has the lock waits for no row: it has locked its own
 * before, or leaves out what is locked.
 */
const lockSlots = (schema: string): string =>
  `PERFORM pg_advisory_xact_lock(hashtextextended('${schema.replaceAll("'", "''")} slots', 0))`

/** The limit that keeps a conversation from being claimed; null where it may be. Its own lease does not count. Volatile, so it sees what was committed before it had the lock. */
const reachedLimit = (schema: string): string => `
  CREATE FUNCTION ${schema}.reached_limit(
    p_tenant text, p_id text, p_tenant_limit bigint, p_agent_limit bigint, p_account text, p_account_limit bigint
  ) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    v_agent text;
    v_reached text;
  BEGIN
    IF coalesce(p_tenant_limit, p_agent_limit, p_account_limit) IS NULL THEN RETURN NULL; END IF;
    SELECT c.agent INTO v_agent FROM ${schema}.conversations c WHERE c.tenant = p_tenant AND c.id = p_id AND NOT ${passes};
    IF NOT FOUND THEN RETURN NULL; END IF;
    ${lockSlots(schema)};
    SELECT CASE
        WHEN count(*) FILTER (WHERE c.tenant = p_tenant) >= p_tenant_limit THEN 'tenant'
        WHEN count(*) FILTER (WHERE c.agent = v_agent) >= p_agent_limit THEN 'agent'
        WHEN count(*) FILTER (WHERE c.account = p_account) >= p_account_limit THEN 'account'
      END INTO v_reached
      FROM ${schema}.conversations c WHERE ${holdsSlot} AND NOT (c.tenant = p_tenant AND c.id = p_id);
    RETURN v_reached;
  END $$;
`

/** Tenants with free conversations of these agents that have a wake-up: a step of the index for each. */
const waitingTenants = (schema: string): string => `
  CREATE FUNCTION ${schema}.waiting_tenants(p_agents text[]) RETURNS TABLE (tenant text) LANGUAGE sql AS $$
    WITH RECURSIVE walk (agent, tenant, steps) AS (
      SELECT a.agent, (${nextTenant(schema, 'a.agent', "''")}), 1 FROM unnest(p_agents) a (agent)
      UNION ALL
      SELECT w.agent, (${nextTenant(schema, 'w.agent', 'w.tenant')}), w.steps + 1
        FROM walk w WHERE w.tenant IS NOT NULL AND w.steps < ${mostSteps}
    )
    SELECT DISTINCT w.tenant FROM walk w WHERE w.tenant IS NOT NULL
  $$;
`

const isLeftAlone = `coalesce((p_except ->> (c.tenant || E'\\n' || c.id))::bigint >= c.last_seq, false)`
const found = 'c.tenant, c.id, c.agent, c.wake_at'

/**
 * What may be claimed, in the order in which it is: what passes limits, then one conversation of each tenant, then the second of each, and so on, from the tenant
 * after \`p_after\` on. The first \`p_limit\` are those to claim, and up to \`p_most\` of the same tenants are to take where others take these. \`p_limits\`: by agent its limit (\`turns\`), its account (\`account\`) and that one's limit (\`accountTurns\`); agents that are not in it are under
 * none; null: no limits. \`p_tenants\`: the limit of each tenant, of tenants that are not in it \`p_tenant_limit\`. Reads for each agent a bounded part of the index: in its
 * order, which the planner would not choose while the table has no statistics.
 */
const fairDue = (schema: string): string => `
  CREATE FUNCTION ${schema}.fair_due(
    p_agents text[], p_limit bigint, p_most bigint, p_suspects bigint, p_except jsonb, p_after text, p_limits jsonb, p_tenant_limit bigint, p_tenants jsonb
  ) RETURNS TABLE (of_tenant text, of_id text, due_at bigint, round bigint, is_suspect boolean) LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  #variable_conflict use_column
  DECLARE
    v_now bigint := ${nowMs};
    -- Without those that are paused in every tenant.
    v_running text[] := ARRAY(
      SELECT a FROM unnest(p_agents) a WHERE NOT EXISTS (SELECT FROM ${schema}.pauses p WHERE p.kind = 'agent' AND p.tenant = '' AND p.name = a)
    );
    v_agents text[] := v_running;
    v_tenants text[];
    v_has_stopped boolean;
    v_full text[] := '{}';
    v_agent_rooms jsonb := '{}';
    v_account_rooms jsonb := '{}';
    v_tenant_held jsonb := '{}';
    v_share bigint;
  BEGIN
    IF cardinality(v_running) = 0 THEN RETURN; END IF;
    IF p_limits IS NOT NULL THEN
      ${lockSlots(schema)};
      SELECT coalesce(jsonb_object_agg(h.tenant, h.n), '{}') INTO v_tenant_held
        FROM (SELECT c.tenant, count(*) AS n FROM ${schema}.conversations c WHERE ${holdsSlot} GROUP BY c.tenant) h;
      SELECT coalesce(jsonb_object_agg(l.key, (l.value ->> 'turns')::bigint - coalesce(h.n, 0)), '{}') INTO v_agent_rooms
        FROM jsonb_each(p_limits) l
        LEFT JOIN (SELECT c.agent, count(*) AS n FROM ${schema}.conversations c WHERE ${holdsSlot} GROUP BY c.agent) h ON h.agent = l.key
        WHERE l.value ? 'turns';
      SELECT coalesce(jsonb_object_agg(l.account, l.turns - coalesce(h.n, 0)), '{}') INTO v_account_rooms
        FROM (
          SELECT l.value ->> 'account' AS account, min((l.value ->> 'accountTurns')::bigint) AS turns
          FROM jsonb_each(p_limits) l WHERE l.value ? 'accountTurns' GROUP BY 1
        ) l
        LEFT JOIN (
          SELECT c.account, count(*) AS n FROM ${schema}.conversations c WHERE ${holdsSlot} AND c.account IS NOT NULL GROUP BY c.account
        ) h ON h.account = l.account;
      v_agents := ARRAY(
        SELECT a FROM unnest(v_running) a
        WHERE coalesce((v_agent_rooms ->> a)::bigint, 1) > 0
          AND coalesce((v_account_rooms ->> (p_limits -> a ->> 'account'))::bigint, 1) > 0
      );
      SELECT coalesce(array_agg(h.key), '{}') INTO v_full FROM jsonb_each_text(v_tenant_held) h
        WHERE h.value::bigint >= coalesce((p_tenants ->> h.key)::bigint, p_tenant_limit);
    END IF;

    WITH RECURSIVE walk (lap, agent, tenant, steps) AS (
      SELECT l.lap, a.agent, (${nextTenant(schema, 'a.agent', "CASE WHEN l.lap = 0 THEN coalesce(p_after, '') ELSE '' END")}), 1
        FROM unnest(v_agents) a (agent), (VALUES (0), (1)) l (lap)
      UNION ALL
      SELECT w.lap, w.agent, (${nextTenant(schema, 'w.agent', 'w.tenant')}), w.steps + 1
        FROM walk w WHERE w.tenant IS NOT NULL AND w.steps < ${mostSteps} AND (w.lap = 0 OR w.tenant <= p_after)
    ), first AS (
      SELECT w.tenant, min(w.lap) AS lap FROM walk w WHERE w.tenant IS NOT NULL
        AND (p_limits IS NULL OR NOT p_limits ? w.agent OR NOT w.tenant = ANY (v_full))
        -- A value, because EXISTS may become a join that reads all due rows for each tenant. Of a paused tenant, no row is read.
        AND CASE WHEN ${isTenantPaused(schema, 'w.tenant')} THEN NULL ELSE (
          SELECT r.id FROM (${rowsOf(schema, 'w.agent', 'w.tenant')} LIMIT 1) r
        ) END IS NOT NULL
      GROUP BY w.tenant ORDER BY 2, 1 LIMIT p_limit
    )
    SELECT coalesce((SELECT array_agg(f.tenant ORDER BY f.lap, f.tenant) FROM first f), '{}'),
        EXISTS (SELECT FROM walk w WHERE w.steps >= ${mostSteps} AND w.tenant IS NOT NULL)
      INTO v_tenants, v_has_stopped;
    -- Behind so many tenants whose wake-ups are all later, or that are paused, others are found by their wake-ups.
    IF v_has_stopped AND cardinality(v_tenants) < p_limit THEN
      v_tenants := v_tenants || ARRAY(
        SELECT DISTINCT d.tenant FROM (
          SELECT c.tenant FROM ${schema}.conversations c
          WHERE c.wake_at <= v_now AND c.epoch IS NULL AND c.agent = ANY (v_agents) AND NOT ${isLeftAlone} AND ${isNotPaused(schema)}
            AND (p_limits IS NULL OR NOT p_limits ? c.agent OR NOT c.tenant = ANY (v_full)) AND NOT c.tenant = ANY (v_tenants)
          ORDER BY c.wake_at LIMIT p_limit - cardinality(v_tenants)
        ) d
      );
    END IF;
    v_share := CASE WHEN cardinality(v_tenants) <= 8 THEN p_most ELSE least(p_most, ceil(${mostRows}.0 / cardinality(v_tenants))) END;

    RETURN QUERY
      WITH passing AS MATERIALIZED (
        -- Not by its holder, which the index of what waits is for: that would be read whole.
        SELECT ${found} FROM ${schema}.conversations c
        WHERE p_limits IS NOT NULL AND c.wake_at - 0 <= v_now AND ${passes} AND c.epoch IS NULL AND c.agent = ANY (v_running) AND NOT ${isLeftAlone}
          AND ${isNotPaused(schema)}
        ORDER BY c.wake_at - 0 LIMIT p_most
      ), suspect AS MATERIALIZED (
        SELECT ${found} FROM ${schema}.conversations c
        WHERE c.holder IS NOT NULL AND c.leased_until <= v_now AND ${isSuspect} IS TRUE AND c.wake_at + 0 <= v_now
          AND c.agent = ANY (v_running) AND NOT ${isLeftAlone} AND ${isNotPaused(schema)}
        ORDER BY c.wake_at + 0 LIMIT p_suspects
      ), lapsed AS MATERIALIZED (
        SELECT ${found} FROM ${schema}.conversations c
        WHERE c.holder IS NOT NULL AND c.leased_until <= v_now AND ${isSuspect} IS NOT TRUE AND c.wake_at + 0 <= v_now
          AND c.agent = ANY (v_running) AND NOT ${isLeftAlone} AND ${isNotPaused(schema)}
        ORDER BY c.wake_at + 0 LIMIT p_most
      ), others AS (
        SELECT r.tenant, r.id, a.agent, r.wake_at, false AS is_suspect FROM unnest(v_agents) a (agent), unnest(v_tenants) t (tenant),
          LATERAL (${rowsOf(schema, 'a.agent', 't.tenant')} ORDER BY c.wake_at + 0 LIMIT v_share) r
        UNION ALL SELECT tenant, id, agent, wake_at, true FROM suspect
        UNION ALL SELECT tenant, id, agent, wake_at, false FROM lapsed
      ), limited AS (
        SELECT o.tenant, o.id, o.agent, o.wake_at, o.is_suspect, p_limits ? o.agent AND NOT EXISTS (
            SELECT FROM ${schema}.conversations c WHERE c.tenant = o.tenant AND c.id = o.id AND ${passes}
          ) AS is_limited
        FROM others o WHERE p_limits IS NOT NULL
        UNION ALL SELECT o.tenant, o.id, o.agent, o.wake_at, o.is_suspect, false FROM others o WHERE p_limits IS NULL
      ), placed AS (
        SELECT l.*, row_number() OVER (PARTITION BY l.tenant ORDER BY l.wake_at, l.id) AS round,
          coalesce(array_position(v_tenants, l.tenant), 0) AS place
        FROM limited l
      ), ranked AS (
        SELECT p.*,
          row_number() OVER (PARTITION BY p.is_limited, p.tenant ORDER BY p.round) AS of_tenant_rank,
          row_number() OVER (PARTITION BY p.is_limited, p.agent ORDER BY p.round, p.place) AS of_agent_rank,
          row_number() OVER (PARTITION BY p.is_limited, p_limits -> p.agent ->> 'account' ORDER BY p.round, p.place) AS of_account_rank
        FROM placed p
      )
      SELECT * FROM (
        SELECT p.tenant, p.id, p.wake_at, 0::bigint AS round, false AS is_suspect FROM passing p
        UNION ALL (
          SELECT r.tenant, r.id, r.wake_at, r.round, r.is_suspect FROM ranked r
          WHERE NOT r.is_limited OR (
            r.of_tenant_rank <= coalesce((p_tenants ->> r.tenant)::bigint, p_tenant_limit, ${Number.MAX_SAFE_INTEGER}) - coalesce((v_tenant_held ->> r.tenant)::bigint, 0)
            AND r.of_agent_rank <= coalesce((v_agent_rooms ->> r.agent)::bigint, ${Number.MAX_SAFE_INTEGER})
            AND r.of_account_rank <= coalesce((v_account_rooms ->> (p_limits -> r.agent ->> 'account'))::bigint, ${Number.MAX_SAFE_INTEGER})
          )
          ORDER BY r.round, r.wake_at, r.place
        )
      ) chosen LIMIT p_most;
  END $$;
`

/** The first tenant after this one with a free conversation of the agent that has a wake-up, due or not. */
const nextTenant = (schema: string, agent: string, tenant: string): string =>
  `SELECT c.tenant FROM ${schema}.conversations c
            WHERE ${line('c.agent', 'c.tenant')} > ${line(agent, tenant)} AND ${line('c.agent', 'c.tenant')} < ${agent} || E'\\x0b'
              AND c.wake_at IS NOT NULL AND c.holder IS NULL
            ORDER BY ${line('c.agent', 'c.tenant')} LIMIT 1`

const rowsOf = (schema: string, agent: string, tenant: string): string =>
  `SELECT c.tenant, c.id, c.wake_at FROM ${schema}.conversations c
            WHERE ${line('c.agent', 'c.tenant')} = ${line(agent, tenant)} AND c.wake_at IS NOT NULL AND c.holder IS NULL
              AND c.wake_at + 0 <= v_now AND NOT ${isLeftAlone} AND NOT (p_limits IS NOT NULL AND ${passes}) AND ${isNotPaused(schema)}`

/** For a claim on one conversation. It locks the row before it counts. */
const claimWithin = (schema: string): string => `
  CREATE FUNCTION ${schema}.lock_and_judge(
    p_tenant text, p_id text, p_tenant_limit bigint, p_agent_limit bigint, p_account text, p_account_limit bigint
  ) RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM 1 FROM ${schema}.conversations c WHERE c.tenant = p_tenant AND c.id = p_id FOR UPDATE;
    RETURN ${schema}.reached_limit(p_tenant, p_id, p_tenant_limit, p_agent_limit, p_account, p_account_limit);
  END $$;
`
