import { setTimeout as sleep } from 'node:timers/promises'
import { type ClientOptions, requestJson } from '../../../src/client/request.ts'
import type { BulkJob, BulkStart } from '../../../src/runtime/bulk/bulk-request.ts'
import type { Pause, PauseTarget } from '../../../src/store/steering.ts'
import type { SeededRandom } from '../harness/seeded-random.ts'
import type { History } from './history.ts'
import { shuffled } from './nemesis.ts'
import type { Heard, People } from './people.ts'

/** All that operators do, with how often it was done. */
export type ActCounts = Record<Act, number>

export const acts = ['pause agent', 'pause tenant', 'pause conversation', 'drain', 'bulk cancel', 'bulk retry'] as const

type Act = (typeof acts)[number]

type Parts = {
  readonly people: People
  readonly history: History
  /** Done to the fleet while a bulk job runs. */
  readonly strike: () => Promise<void>
  readonly random: SeededRandom
  /** The longest time between two acts. */
  readonly pauseMs: number
  readonly tell: (text: string) => void
}

const agents = ['office', 'scribe', 'clerk', 'flow:errand'] as const

/** Those who pause, drain and start bulk jobs, one act after another, while faults come about. */
export class Operators {
  readonly counts = Object.fromEntries(acts.map((act) => [act, 0])) as ActCounts
  readonly #parts: Parts
  #jobs = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Goes through all acts once, in an order of chance, and again until the time is up. */
  async run(untilMs: number): Promise<void> {
    const { random, pauseMs, tell } = this.#parts
    const attempt = async (act: Act): Promise<void> => {
      await sleep(random.int(100, pauseMs))
      tell(act)
      if (await this.#do(act)) this.counts[act] += 1
    }
    do {
      for (const act of shuffled(acts, random)) await attempt(act)
    } while (Date.now() < untilMs)
    for (const act of acts.filter((one) => this.counts[one] === 0)) await attempt(act)
  }

  /** Ends pauses and drains until it is stopped: a node that was silent may carry out a request late that was made again elsewhere. */
  async heal(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const paused = await this.#ask((ask) => requestJson<{ pauses: Pause[] }>(ask, '/pauses'))
      for (const { target } of paused.pauses) await this.#post('/pauses/resume', target)
      for (const { holder, drain } of await this.#nodes())
        if (drain) await this.#post('/nodes/undrain', { node: holder })
      await sleep(500)
    }
  }

  /** False when there was nothing to do it to. */
  async #do(act: Act): Promise<boolean> {
    const { random, history } = this.#parts
    switch (act) {
      case 'pause agent':
        return this.#pause({ agent: random.pick(agents) })
      case 'pause tenant':
        return this.#pause({ tenant: 'default' })
      case 'pause conversation': {
        const known = history.sends.filter(({ told }) => told.length > 0).slice(-8)
        return known.length > 0 && this.#pause({ conversation: random.pick(known).conversation })
      }
      case 'drain':
        return this.#drain()
      case 'bulk cancel':
        return this.#bulk({ action: 'cancel', filter: { agent: 'office', text: 'talk' } })
      case 'bulk retry':
        return this.#bulk({ action: 'retry', filter: { agent: 'office' } })
    }
  }

  async #pause(target: PauseTarget): Promise<boolean> {
    const { history, random } = this.#parts
    const { id } = await this.#post<Pause>('/pauses', target)
    history.pauses.push({ id, target, at: Date.now() })
    await sleep(random.int(300, 1_500))
    await this.#post('/pauses/resume', target)
    return true
  }

  async #drain(): Promise<boolean> {
    const { random } = this.#parts
    const nodes = await this.#nodes()
    if (nodes.length === 0) return false
    const { holder: node } = random.pick(nodes)
    const { draining } = await this.#post<{ draining: boolean }>('/nodes/drain', { node, drainMs: random.int(0, 800) })
    await sleep(random.int(500, 2_000))
    await this.#post('/nodes/undrain', { node })
    return draining
  }

  /** Slow enough that nodes die meanwhile. */
  async #bulk(request: Pick<BulkStart, 'action' | 'filter'>): Promise<boolean> {
    const { history, strike, random } = this.#parts
    this.#jobs += 1
    const id = `job${this.#jobs}`
    const { job } = await this.#post<{ job: BulkJob }>('/store/jobs', { ...request, id, who: id, perSecond: 20 })
    history.jobs.push({ id, action: job.action })
    await sleep(random.int(0, 600))
    await strike()
    return true
  }

  async #nodes(): Promise<{ holder: string; drain: unknown }[]> {
    const told = await this.#ask((ask) => requestJson<{ nodes: { holder: string; drain: unknown }[] }>(ask, '/nodes'))
    return told.nodes
  }

  #post<T>(path: string, body: object): Promise<T> {
    return this.#ask((ask) => requestJson<T>(ask, path, { method: 'POST', body: () => body }))
  }

  async #ask<T>(verb: (options: ClientOptions) => Promise<T>): Promise<T> {
    const heard: Heard<T> = await this.#parts.people.ask('operator', (_, options) => verb(options))
    if (!('value' in heard)) throw new Error('operators are refused nothing for good')
    return heard.value
  }
}
