import { quarantineHolder } from '../lease.ts'
import { type Drain, forgottenAfter, mostNodes, type NodeState, type NodesDriver, silentAfterBeats } from '../nodes.ts'
import { type StoredWork, workRowOf } from '../work-rows.ts'
import { arrayLiteral, isQuarantined, nowMs } from './columns.ts'
import type { Database } from './database.ts'

/** Which processes there are. No index beside the key: a beat then changes its row in place. */
export const createNodes = (schema: string): string => `
  CREATE TABLE ${schema}.nodes (
    holder text COLLATE "C" PRIMARY KEY,
    version text NOT NULL,
    works boolean NOT NULL,
    capacity bigint NOT NULL,
    agents text[] COLLATE "C" NOT NULL,
    agent_count bigint NOT NULL,
    every_ms bigint NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    forgotten_at bigint NOT NULL,
    drain_who text,
    drain_at bigint,
    drain_reason text,
    drain_ms bigint
  ) WITH (fillfactor = 50);
`

type DrainColumns = {
  readonly drainWho: string | null
  readonly drainAt: number | null
  readonly drainReason: string | null
  readonly drainMs: number | null
}

type Row = Omit<NodeState, 'drain'> & DrainColumns

const drainColumns =
  'drain_who AS "drainWho", drain_at AS "drainAt", drain_reason AS "drainReason", drain_ms AS "drainMs"'

function drainIn({ drainWho, drainAt, drainReason, drainMs }: DrainColumns): Drain | null {
  return drainAt === null ? null : { who: drainWho!, at: drainAt, reason: drainReason, drainMs: drainMs! }
}

export function postgresNodes(database: Database): NodesDriver {
  const statements = nodeStatements(database.schema)
  return {
    async beat(node) {
      const { holder, version, works, capacity, agents, agentCount, everyMs, drain } = node
      const [row] = await database.run<DrainColumns>(statements.beat, [
        ...[holder, version, works, capacity, arrayLiteral(agents, (agent) => agent), agentCount, everyMs],
        ...[forgottenAfter(everyMs), drain?.who ?? null, drain?.at ?? null],
        ...[drain?.reason ?? null, drain?.drainMs ?? null],
      ])
      return drainIn(row!)
    },
    async leave(holder) {
      await database.run(statements.leave, [holder])
    },
    async list() {
      const rows = await database.run<Row>(statements.list, [mostNodes])
      return rows.map(({ drainWho, drainAt, drainReason, drainMs, ...row }) => ({
        ...row,
        drain: drainIn({ drainWho, drainAt, drainReason, drainMs }),
      }))
    },
    async work({ state, agent, limit, after }) {
      const values = [agent, limit, after?.at ?? null, after?.tenant ?? null, after?.id ?? null]
      const rows = await database.run<StoredWork & { readonly now: number }>(statements.work[state], values)
      return rows.map(({ now, ...row }) => workRowOf(row, now))
    },
    async workOf(tenant, id) {
      const [row] = await database.run<StoredWork & { readonly now: number }>(statements.workOf, [tenant, id])
      if (!row) return null
      const { now, ...stored } = row
      return workRowOf(stored, now)
    },
    async drain(holder, { who, reason, drainMs }) {
      return (await database.run(statements.drain, [holder, who, reason ?? null, drainMs])).length > 0
    },
    async undrain(holder, { who, reason }) {
      return (await database.run(statements.undrain, [holder, who, reason ?? null], 'reject')).length > 0
    },
  }
}

function nodeStatements(schema: string) {
  const nodes = `${schema}.nodes`
  const workColumns = `SELECT c.tenant, c.id, c.agent, c.wake_at AS "wakeAt", c.holder, c.epoch, c.leased_until AS until, c.claimed_at AS "claimedAt",
    coalesce(cardinality(c.lapsed), 0) AS lapses, c.updated_at AS "updatedAt", (SELECT ${nowMs}) AS now FROM ${schema}.conversations c`
  const work = (name: string, where: string, at: string) => ({
    name: `work_${name}`,
    text: `${workColumns} WHERE ${where} AND ($1::text IS NULL OR c.agent = $1)
      AND ($3::bigint IS NULL OR (${at}, c.tenant, c.id) > ($3::bigint, $4::text, $5::text)) ORDER BY ${at}, c.tenant, c.id LIMIT $2`,
  })
  return {
    // Forgotten rows that another beat is removing are left to it, so that beats never wait for each other.
    beat: {
      name: 'node_beat',
      text: `WITH t AS MATERIALIZED (SELECT ${nowMs} AS now), forgotten AS (
          DELETE FROM ${nodes} WHERE holder <> $1 AND holder = ANY (ARRAY(
            SELECT holder FROM ${nodes} WHERE forgotten_at <= (SELECT now FROM t) FOR UPDATE SKIP LOCKED))
        )
        INSERT INTO ${nodes} (holder, version, works, capacity, agents, agent_count, every_ms, started_at, seen_at, forgotten_at,
          drain_who, drain_at, drain_reason, drain_ms)
        SELECT $1, $2, $3, $4::bigint, $5::text[], $6::bigint, $7::bigint, now, now, now + $8::bigint, $9::text, $10::bigint, $11::text, $12::bigint FROM t
        ON CONFLICT (holder) DO UPDATE SET agents = excluded.agents, agent_count = excluded.agent_count, every_ms = excluded.every_ms,
          seen_at = excluded.seen_at, forgotten_at = excluded.forgotten_at
        RETURNING ${drainColumns}`,
    },
    work: {
      due: work(
        'due',
        `c.wake_at <= (SELECT ${nowMs}) AND (c.epoch IS NULL OR c.leased_until <= ${nowMs})`,
        'c.wake_at',
      ),
      held: work(
        'held',
        `c.holder IS NOT NULL AND NOT ${isQuarantined} AND c.leased_until > ${nowMs}`,
        'coalesce(c.claimed_at, 0)',
      ),
      quarantined: work('quarantined', isQuarantined, 'coalesce(c.claimed_at, 0)'),
    },
    workOf: { name: 'work_of', text: `${workColumns} WHERE c.tenant = $1 AND c.id = $2` },
    leave: { name: 'node_leave', text: `DELETE FROM ${nodes} WHERE holder = $1` },
    list: {
      name: 'node_list',
      text: `WITH t AS MATERIALIZED (SELECT ${nowMs} AS now), leases AS (
          SELECT c.holder, count(*) AS held, min(c.leased_until) AS next FROM ${schema}.conversations c
          WHERE c.holder IS NOT NULL AND c.holder <> '${quarantineHolder}' GROUP BY c.holder
        ), known AS (
          SELECT n.* FROM ${nodes} n, t WHERE n.forgotten_at > t.now
        )
        SELECT coalesce(n.holder, l.holder) AS holder, n.version, coalesce(n.works, true) AS works, n.capacity,
          coalesce(n.agents, '{}') AS agents, coalesce(n.agent_count, 0) AS "agentCount", coalesce(l.held, 0) AS held,
          l.next AS "nextLapseAt", n.started_at AS "startedAt", n.seen_at AS "seenAt",
          coalesce((SELECT now FROM t) - n.seen_at > ${silentAfterBeats} * n.every_ms, false) AS "isSilent", ${drainColumns}
        FROM known n FULL JOIN leases l ON l.holder = n.holder
        ORDER BY n.started_at NULLS LAST, 1 LIMIT $1`,
    },
    drain: {
      name: 'node_drain',
      text: `WITH drained AS (
          UPDATE ${nodes} SET drain_who = $2, drain_at = ${nowMs}, drain_reason = $3, drain_ms = $4
          WHERE holder = $1 AND forgotten_at > ${nowMs} AND drain_at IS NULL RETURNING holder
        ), told AS (
          SELECT ${schema}.record_act('drain', 'node', '', holder, $2, $3) AS id FROM drained
        )
        SELECT 1 FROM ${nodes} WHERE holder = $1 AND forgotten_at > ${nowMs} AND (SELECT count(id) FROM told) >= 0`,
    },
    undrain: {
      name: 'node_undrain',
      text: `WITH undrained AS (
          UPDATE ${nodes} SET drain_who = NULL, drain_at = NULL, drain_reason = NULL, drain_ms = NULL
          WHERE holder = $1 AND drain_at IS NOT NULL RETURNING holder
        )
        SELECT ${schema}.record_act('undrain', 'node', '', holder, $2, $3) AS id FROM undrained`,
    },
  }
}
