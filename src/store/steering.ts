import { readOptions } from '../base/errors/read-options.ts'
import {
  ConversationNotFoundError,
  InvalidArgumentError,
  SteeringUnsupportedError,
} from '../base/errors/store-errors.ts'
import { checkId, checkWhole, readList } from './checks.ts'
import type { ConversationRef } from './records.ts'
import { readBy, type SteeredBy, type StoredTarget, withReason } from './steered-by.ts'

export type { SteeredBy } from './steered-by.ts'

/**
 * What a store may offer beside its contract: pauses, and a record of who steered what. From when `pause` resolves until `resume`, no process gets a lease on
 * what is paused: not by a claim, not with a commit, and `dueWork` leaves it out. Leases that are held stay, and so do wake-ups, deadlines and commits.
 */
export type Steering = {
  /** What is paused already keeps its first pause. */
  pause(target: PauseTarget, by: SteeredBy): Promise<Pause>
  /** What waits is due at once. False when it is not paused. */
  resume(target: PauseTarget, by: SteeredBy): Promise<boolean>
  /** The newest first. `before` is the id of the last one of the previous page. Default of `limit`: 100. */
  pauses(page?: SteeringPage): Promise<Pause[]>
  /** The oldest pause of each, or null, in one statement. `agent` of a session: `flow:<name>`. */
  pausesOf(rows: readonly PausableRow[]): Promise<(Pause | null)[]>
  /** Who paused, resumed and drained what, the newest first. At least the newest `mostActs` are kept. */
  acts(page?: SteeringPage): Promise<SteeringAct[]>
}

/** All conversations and sessions of an agent, in every tenant (a flow is the agent `flow:<name>`); all of a tenant; or one. Default of `tenant`: 'default'. */
export type PauseTarget =
  | { readonly agent: string }
  | { readonly tenant: string }
  | { readonly conversation: string; readonly tenant?: string }

/** Which part of a list is read. */
export type SteeringPage = { readonly before?: number; readonly limit?: number }

/** What is paused, by whom and since when. */
export type Pause = {
  readonly id: number
  readonly target: PauseTarget
  readonly who: string
  readonly at: number
  readonly reason: string | null
}

/** Something that an operator did. */
export type SteeringAct = {
  readonly id: number
  readonly act: 'pause' | 'resume' | 'drain' | 'undrain'
  readonly target: PauseTarget | { readonly node: string }
  readonly who: string
  readonly at: number
  readonly reason: string | null
}

/** A conversation or session that a pause may be about. */
export type PausableRow = ConversationRef & { readonly agent: string | null }

/** What a backend implements. Reasons are encoded. `createStore` turns it into a `Steering`. */
export type SteeringDriver = {
  /** Null when it is a conversation that does not exist. Must not resolve before every claim that began without knowing the pause has ended. */
  pause(target: StoredTarget, by: SteeredBy): Promise<StoredPause | null>
  resume(target: StoredTarget, by: SteeredBy): Promise<boolean>
  pauses(page: SteeringPage & { limit: number }): Promise<StoredPause[]>
  pausesOf(rows: readonly PausableRow[]): Promise<(StoredPause | null)[]>
  acts(page: SteeringPage & { limit: number }): Promise<StoredAct[]>
}

/** A pause as a driver stores it. */
export type StoredPause = StoredTarget & Omit<Pause, 'target'>

/** An act as a driver stores it. */
export type StoredAct = StoredTarget & Omit<SteeringAct, 'target'>

/** How many acts are kept. */
export const mostActs = 1_000
/** The most pauses and acts of one page. */
const mostListed = 1_000

/** Throws `SteeringUnsupportedError` where the store has none. */
export function steeringOf(store: { readonly steering?: Steering }): Steering {
  if (!store.steering) throw new SteeringUnsupportedError()
  return store.steering
}

/** Checks what callers pass, once for all backends. */
export function checkedSteering(driver: SteeringDriver): Steering {
  return {
    async pause(input, by) {
      const target = readTarget(input)
      const pause = await driver.pause(target, readBy(by))
      if (!pause) throw new ConversationNotFoundError(target.name)
      return pauseOf(pause)
    },
    resume: async (input, by) => driver.resume(readTarget(input), readBy(by)),
    pauses: async (page) => (await driver.pauses(readPage(page))).map(pauseOf),
    async pausesOf(input) {
      const rows = readList('rows', input).map(readRow)
      if (rows.length === 0) return []
      return (await driver.pausesOf(rows)).map((pause) => pause && pauseOf(pause))
    },
    async acts(page) {
      const acts = await driver.acts(readPage(page))
      return acts.map((act) => {
        const { kind, tenant, name, ...rest } = withReason(act)
        return { ...rest, target: kind === 'node' ? { node: name } : targetOf({ kind, tenant, name }) }
      })
    },
  }
}

function pauseOf(stored: StoredPause): Pause {
  const { kind, tenant, name, ...rest } = withReason(stored)
  return { ...rest, target: targetOf({ kind, tenant, name }) }
}

function targetOf({ kind, tenant, name }: StoredTarget): PauseTarget {
  if (kind === 'agent') return { agent: name }
  return kind === 'tenant' ? { tenant } : { conversation: name, tenant }
}

type TargetMembers = { readonly agent?: string; readonly tenant?: string; readonly conversation?: string }

function readTarget(input: PauseTarget): StoredTarget {
  const { agent, tenant, conversation } = readOptions<TargetMembers, keyof TargetMembers>('target', input, [
    'agent',
    'tenant',
    'conversation',
  ])
  if (agent !== undefined) {
    if (tenant !== undefined || conversation !== undefined)
      throw new InvalidArgumentError('target', 'must name an agent, a tenant or a conversation, and only one of them')
    checkId('agent', agent)
    return { kind: 'agent', tenant: '', name: agent }
  }
  if (tenant !== undefined) checkId('tenant', tenant)
  if (conversation !== undefined) {
    checkId('conversation id', conversation)
    return { kind: 'conversation', tenant: tenant ?? 'default', name: conversation }
  }
  if (tenant === undefined) throw new InvalidArgumentError('target', 'must name an agent, a tenant or a conversation')
  return { kind: 'tenant', tenant, name: '' }
}

function readPage(input: SteeringPage | undefined): SteeringPage & { limit: number } {
  const { before, limit = 100 } = readOptions('page', input, ['before', 'limit'])
  if (before !== undefined) checkWhole('before', before, 1)
  checkWhole('limit', limit, 1)
  return { limit: Math.min(limit, mostListed), ...(before === undefined ? {} : { before }) }
}

function readRow(input: PausableRow): PausableRow {
  const { tenant, id, agent } = readOptions<PausableRow, keyof PausableRow>('row', input, ['tenant', 'id', 'agent'])
  checkId('tenant', tenant)
  checkId('conversation id', id)
  if (agent !== null) checkId('agent', agent)
  return { tenant, id, agent: agent ?? null }
}
