import type { WorkerHere } from '../store.ts'

/** How often a worker announces itself. After three missing announcements it counts as gone. */
export const announceMs = 3_000
const goneAfterMs = 3 * announceMs + 1_000

/** The announcement of a worker. `agents` null: it has stopped; `'any'`: too many to name. */
export type Announcement = { readonly worker: string; readonly agents: readonly string[] | 'any' | null }

/** An announcement must fit into a notification. */
const mostAgentBytes = 5_000

export function announcementOf({ holder, agents }: WorkerHere): Announcement {
  const names = agents()
  const isTooLong = Buffer.byteLength(JSON.stringify(names)) > mostAgentBytes
  return { worker: tokenOf(holder), agents: isTooLong ? 'any' : names }
}

/** Identifies a holder in notifications. If two holders have the same token, both consider themselves named. */
export function tokenOf(holder: string): string {
  return holder.slice(-12)
}

type Worker = { readonly agents: ReadonlySet<string> | 'any'; readonly names: string; readonly seenAt: number }

/**
 * The workers that this process knows of, and which of them should take a conversation. A wrong choice costs time and nothing
 * else: what was not taken is found by polling.
 */
export class Takers {
  readonly #now: () => number
  readonly #workers = new Map<string, Worker>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  heard({ worker, agents }: Announcement): void {
    if (agents === null) this.#workers.delete(worker)
    else {
      const known = agents === 'any' ? agents : new Set(agents)
      this.#workers.set(worker, { agents: known, names: String(agents), seenAt: this.#now() })
    }
  }

  /**
   * Chooses the same worker for a conversation as long as the set of workers does not change, because that one has read the log. Null if the right one is not
   * known; then all should search. `agent` is null if this process does not know it; then workers with different agents cannot be told apart.
   */
  choose(tenant: string, id: string, agent: string | null): string | null {
    let best: string | null = null
    let most = -1
    let names: string | null = null
    for (const [token, worker] of this.#workers) {
      if (this.#now() - worker.seenAt > goneAfterMs) {
        this.#workers.delete(token)
        continue
      }
      if (agent === null && names !== null && names !== worker.names) return null
      names = worker.names
      if (agent !== null && worker.agents !== 'any' && !worker.agents.has(agent)) continue
      const weight = hashOf(`${token}\n${tenant}\n${id}`)
      if (weight > most) [best, most] = [token, weight]
    }
    return best
  }
}

/** FNV-1a, with its bits mixed once more: the texts differ only at their ends. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
