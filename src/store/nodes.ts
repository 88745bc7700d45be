import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError, SteeringUnsupportedError } from '../base/errors/store-errors.ts'
import { checkDuration, checkHolder, checkId, checkWhole, readList } from './checks.ts'
import { encodedReason, readBy, type SteeredBy, withReason } from './steered-by.ts'
import { type ReadWorkPage, readWorkPage, type WorkPage, type WorkRow } from './work-rows.ts'

/**
 * What a store may offer beside its contract: which processes there are. Each runtime says so in every beat, also one that runs nothing, and is forgotten when it
 * closes or is not heard of for long. Nothing of the engine depends on it except drains: leases alone decide who works on a conversation.
 */
export type Nodes = {
  /** Records that the node is alive. Also forgets nodes without a beat for long (`forgottenAfter`). Returns its drain. Must be one small statement. */
  beat(node: NodeBeat): Promise<Drain | null>
  /** Forgets a node. Does nothing where it is not known. */
  leave(holder: string): Promise<void>
  /** The nodes that are known, then holders of leases that never said so, as earlier versions; each by age. At most `mostNodes`. */
  list(): Promise<NodeState[]>
  /** Asks a node to take no more work and to hand over what it holds within `drainMs`. False if the node is not known. A second drain changes nothing. */
  drain(holder: string, drain: NewDrain): Promise<boolean>
  /** Lets it work again. False when it does not drain. */
  undrain(holder: string, by: SteeredBy): Promise<boolean>
  /** What is due, held or quarantined, over all tenants, the oldest first. */
  work(page?: WorkPage): Promise<WorkRow[]>
  /** Null when there is no such conversation. */
  workOf(tenant: string, id: string): Promise<WorkRow | null>
}

/** What a backend implements. Reasons are encoded. `createStore` turns it into `Nodes`. */
export type NodesDriver = Omit<Nodes, 'work'> & { work(page: ReadWorkPage): Promise<WorkRow[]> }

/** What a node says of itself. */
export type NodeBeat = {
  /** The name it takes leases with. */
  readonly holder: string
  /** Of the package. */
  readonly version: string
  /** False for a node that runs nothing. */
  readonly works: boolean
  /** How many conversations it works on at once. */
  readonly capacity: number
  /** The agents and flows that it has code for: at most `mostAgents` of them. */
  readonly agents: readonly string[]
  /** How many there are in all. */
  readonly agentCount: number
  /** The time between two beats. */
  readonly everyMs: number
  /** The drain it knows of. Kept if the store has forgotten the node, else ignored. */
  readonly drain: Drain | null
}

/** A request to drain. `who` asks for it. */
export type NewDrain = SteeredBy & { readonly drainMs: number }

/** Why a node takes no more work. */
export type Drain = {
  readonly who: string
  readonly at: number
  readonly reason: string | null
  readonly drainMs: number
}

/** A process, as the store knows it. */
export type NodeState = {
  readonly holder: string
  /** Null for a process of an earlier version, which is known by its leases alone. The members that only a beat can tell are then null or empty. */
  readonly version: string | null
  readonly works: boolean
  readonly capacity: number | null
  readonly agents: readonly string[]
  readonly agentCount: number
  /** The conversations it has leases on, counted now. */
  readonly held: number
  /** When the first of its leases lapses unless it is renewed. */
  readonly nextLapseAt: number | null
  readonly startedAt: number | null
  readonly seenAt: number | null
  /** It has missed several beats: it may be dead, stopped or cut off from the store. */
  readonly isSilent: boolean
  readonly drain: Drain | null
}

/** The entry of a lease holder that never sent a heartbeat. */
export const unknownNode = {
  version: null,
  works: true,
  capacity: null,
  agents: [],
  agentCount: 0,
  startedAt: null,
  seenAt: null,
  isSilent: false,
  drain: null,
} as const

/** The most agents that a node names. */
const mostAgents = 500
/** The most nodes that are listed. */
export const mostNodes = 1_000

/** A node that missed this many beats is silent. */
export const silentAfterBeats = 3
/** A node without a beat for this long is forgotten. */
export function forgottenAfter(everyMs: number): number {
  return Math.max(60_000, 10 * everyMs)
}

/** Throws `SteeringUnsupportedError` where the store has none. */
export function nodesOf(store: { readonly nodes?: Nodes }): Nodes {
  if (!store.nodes) throw new SteeringUnsupportedError()
  return store.nodes
}

/** Checks what callers pass, once for all backends. Reasons reach the driver encoded, because they are free text. */
export function checkedNodes(driver: NodesDriver): Nodes {
  return {
    async beat(input) {
      const drain = await driver.beat(readBeat(input))
      return drain && withReason(drain)
    },
    async leave(holder) {
      checkHolder(holder)
      await driver.leave(holder)
    },
    async list() {
      const nodes = await driver.list()
      return nodes.map((node) => ({ ...node, drain: node.drain && withReason(node.drain) }))
    },
    async drain(holder, input) {
      checkHolder(holder)
      const { drainMs, ...by } = readOptions('drain', input, ['who', 'reason', 'drainMs'])
      checkDuration('drainMs', drainMs, 0)
      return driver.drain(holder, { ...readBy(by as SteeredBy), drainMs })
    },
    async undrain(holder, by) {
      checkHolder(holder)
      return driver.undrain(holder, readBy(by))
    },
    work: async (page) => driver.work(readWorkPage(page)),
    async workOf(tenant, id) {
      checkId('tenant', tenant)
      checkId('conversation id', id)
      return driver.workOf(tenant, id)
    },
  }
}

const beatNames = ['holder', 'version', 'works', 'capacity', 'agents', 'agentCount', 'everyMs', 'drain'] as const

function readBeat(input: NodeBeat): NodeBeat {
  const read = readOptions<NodeBeat, keyof NodeBeat>('node', input, beatNames)
  const { holder, version, works, capacity, agents, agentCount, everyMs, drain } = read
  checkHolder(holder)
  checkId('version', version)
  if (typeof works !== 'boolean') throw new InvalidArgumentError('works', 'must be true or false')
  checkWhole('capacity', capacity, 0)
  checkWhole('agentCount', agentCount, 0)
  checkDuration('everyMs', everyMs)
  const names = readList('agents', agents!).slice(0, mostAgents)
  for (const name of names) checkId('agent', name)
  return { holder, version, works, capacity, agents: names, agentCount, everyMs, drain: readDrain(drain) }
}

function readDrain(input: Drain | null | undefined): Drain | null {
  if (input === null || input === undefined) return null
  const { who, at, reason, drainMs } = readOptions<Drain, keyof Drain>('drain', input, [
    'who',
    'at',
    'reason',
    'drainMs',
  ])
  checkId('who', who)
  checkWhole('at', at, 0)
  checkDuration('drainMs', drainMs, 0)
  return { who, at, drainMs, reason: encodedReason(reason).reason ?? null }
}
