import { quarantineHolder, quarantineUntil } from '../lease.ts'
import {
  type Drain,
  forgottenAfter,
  mostNodes,
  type NewDrain,
  type NodeBeat,
  type NodeState,
  type NodesDriver,
  silentAfterBeats,
  unknownNode,
} from '../nodes.ts'
import { nodeTarget, type SteeredBy } from '../steered-by.ts'
import { type ReadWorkPage, type StoredWork, type WorkRow, workRowOf } from '../work-rows.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'
import type { GroupCommit } from './group-commit.ts'
import { recordAct } from './steering.ts'

export function sqliteNodes(connection: Connection, commits: GroupCommit): NodesDriver {
  return {
    beat: (node) => commits.write((db) => beat(db, node)),
    leave: (holder) =>
      commits.write((db) => {
        db.run('DELETE FROM nodes WHERE holder = ?', holder)
      }),
    list: () => connection.read((db) => db.snapshot(() => list(db))),
    drain: (holder, request) => commits.write((db) => drain(db, holder, request)),
    work: (page) => connection.read((db) => db.snapshot(() => work(db, page))),
    workOf: (tenant, id) =>
      connection.read((db) => {
        const row = db.get<StoredWork>(`${workColumns} WHERE tenant = ? AND id = ?`, tenant, id)
        return row ? workRowOf(row, Date.now()) : null
      }),
    undrain: (holder, by) => commits.write((db) => undrain(db, holder, by)),
  }
}

const workColumns = `SELECT tenant, id, agent, wake_at AS wakeAt, lease_holder AS holder, lease_epoch AS epoch, lease_until AS until,
  claimed_at AS claimedAt, coalesce(json_array_length(lapsed), 0) AS lapses, updated_at AS updatedAt FROM conversations`

/** What is due is found agent by agent, as the index has it; what is held or quarantined is few. */
function work(db: Database, { state, agent, limit, after }: ReadWorkPage): WorkRow[] {
  const now = Date.now()
  const at = state === 'due' ? 'wake_at' : 'coalesce(claimed_at, 0)'
  const isAfter = after ? `AND (${at}, tenant, id) > (?, ?, ?)` : ''
  const place = after ? [after.at, after.tenant, after.id] : []
  const of = (where: string, ...values: (string | number)[]): StoredWork[] =>
    db.all<StoredWork>(
      `${workColumns} INDEXED BY conversations_agenda WHERE ${where} ${isAfter} ORDER BY ${at}, tenant, id LIMIT ?`,
      ...[...values, ...place, limit],
    )
  const ofAgent = agent === null ? '' : 'AND agent = ?'
  const agentValue = agent === null ? [] : [agent]
  const found =
    state === 'due'
      ? [
          ...(agent === null ? dueAgents(db) : [agent]).flatMap((name) =>
            of('lease_holder IS NULL AND agent = ? AND wake_at <= ?', name, now),
          ),
          ...of(`lease_holder IS NOT NULL AND lease_until <= ? AND wake_at <= ? ${ofAgent}`, now, now, ...agentValue),
        ]
      : state === 'quarantined'
        ? of(`lease_holder = ? AND lease_until = ${quarantineUntil} ${ofAgent}`, quarantineHolder, ...agentValue)
        : of(
            `lease_holder IS NOT NULL AND lease_holder <> ? AND lease_until > ? ${ofAgent}`,
            ...[quarantineHolder, now, ...agentValue],
          )
  const rows = found.map((row) => workRowOf(row, now))
  return rows
    .sort((one, other) => one.at - other.at || order(one.tenant, other.tenant) || order(one.id, other.id))
    .slice(0, limit)
}

/** The agents with a wake-up, each by one step in the index. */
function dueAgents(db: Database): string[] {
  const next =
    'SELECT min(agent) FROM conversations INDEXED BY conversations_agenda WHERE wake_at IS NOT NULL AND lease_holder IS NULL'
  return db
    .all<{ agent: string }>(
      `WITH RECURSIVE agents (agent) AS (
         SELECT (${next}) UNION ALL SELECT (${next} AND conversations.agent > agents.agent) FROM agents WHERE agents.agent IS NOT NULL
       ) SELECT agent FROM agents WHERE agent IS NOT NULL`,
    )
    .map(({ agent }) => agent)
}

function order(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

type DrainColumns = {
  readonly drainWho: string | null
  readonly drainAt: number | null
  readonly drainReason: string | null
  readonly drainMs: number | null
}

const drainColumns = 'drain_who AS drainWho, drain_at AS drainAt, drain_reason AS drainReason, drain_ms AS drainMs'

function drainIn({ drainWho, drainAt, drainReason, drainMs }: DrainColumns): Drain | null {
  return drainAt === null ? null : { who: drainWho!, at: drainAt, reason: drainReason, drainMs: drainMs! }
}

function beat(db: Database, node: NodeBeat): Drain | null {
  const now = Date.now()
  const { holder, version, works, capacity, agents, agentCount, everyMs, drain } = node
  db.run('DELETE FROM nodes WHERE forgotten_at <= ?', now)
  const row = db.get<DrainColumns>(
    `INSERT INTO nodes (holder, version, works, capacity, agents, agent_count, every_ms, started_at, seen_at, forgotten_at,
       drain_who, drain_at, drain_reason, drain_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (holder) DO UPDATE SET agents = excluded.agents, agent_count = excluded.agent_count, every_ms = excluded.every_ms,
       seen_at = excluded.seen_at, forgotten_at = excluded.forgotten_at
     RETURNING ${drainColumns}`,
    ...[holder, version, works ? 1 : 0, capacity, JSON.stringify(agents), agentCount, everyMs],
    ...[now, now, now + forgottenAfter(everyMs)],
    ...[drain?.who ?? null, drain?.at ?? null, drain?.reason ?? null, drain?.drainMs ?? null],
  )
  return drainIn(row!)
}

type NodeRow = DrainColumns & {
  readonly holder: string
  readonly version: string
  readonly works: number
  readonly capacity: number
  readonly agents: string
  readonly agentCount: number
  readonly everyMs: number
  readonly startedAt: number
  readonly seenAt: number
}

type HeldRow = { readonly holder: string; readonly held: number; readonly nextLapseAt: number | null }

function list(db: Database): NodeState[] {
  const now = Date.now()
  const held = db.all<HeldRow>(
    `SELECT lease_holder AS holder, count(*) AS held, min(lease_until) AS nextLapseAt FROM conversations INDEXED BY conversations_agenda
     WHERE lease_holder IS NOT NULL AND lease_holder <> ? GROUP BY lease_holder ORDER BY lease_holder LIMIT ?`,
    ...[quarantineHolder, mostNodes],
  )
  const leases = new Map(held.map(({ holder, ...rest }) => [holder, rest]))
  const rows = db.all<NodeRow>(
    `SELECT holder, version, works, capacity, agents, agent_count AS agentCount, every_ms AS everyMs, started_at AS startedAt,
       seen_at AS seenAt, ${drainColumns} FROM nodes WHERE forgotten_at > ? ORDER BY started_at, holder LIMIT ?`,
    ...[now, mostNodes],
  )
  const states = rows.map((row): NodeState => {
    const { holder, version, capacity, agentCount, everyMs, startedAt, seenAt } = row
    const lease = leases.get(holder) ?? { held: 0, nextLapseAt: null }
    leases.delete(holder)
    return {
      holder,
      version,
      works: row.works === 1,
      capacity,
      agents: JSON.parse(row.agents) as string[],
      agentCount,
      ...lease,
      startedAt,
      seenAt,
      isSilent: now - seenAt > silentAfterBeats * everyMs,
      drain: drainIn(row),
    }
  })
  return [...states, ...[...leases].map(([holder, lease]) => ({ ...unknownNode, holder, ...lease }))].slice(
    0,
    mostNodes,
  )
}

function undrain(db: Database, holder: string, by: SteeredBy): boolean {
  const clear = 'drain_who = NULL, drain_at = NULL, drain_reason = NULL, drain_ms = NULL'
  const wasDraining = db.run(`UPDATE nodes SET ${clear} WHERE holder = ? AND drain_at IS NOT NULL`, holder) > 0
  if (wasDraining) recordAct(db, 'undrain', nodeTarget(holder), by)
  return wasDraining
}

function drain(db: Database, holder: string, { drainMs, ...by }: NewDrain): boolean {
  const isKnown = db.get('SELECT 1 FROM nodes WHERE holder = ? AND forgotten_at > ?', holder, Date.now()) !== undefined
  const set = 'drain_who = ?, drain_at = ?, drain_reason = ?, drain_ms = ?'
  const sql = `UPDATE nodes SET ${set} WHERE holder = ? AND drain_at IS NULL`
  if (isKnown && db.run(sql, by.who, Date.now(), by.reason ?? null, drainMs, holder) > 0)
    recordAct(db, 'drain', nodeTarget(holder), by)
  return isKnown
}
