import { setTimeout as sleep } from 'node:timers/promises'
import { PerdureError } from '../../../src/base/errors/perdure-error.ts'
import { type Client, createClient } from '../../../src/client/index.ts'
import type { ClientOptions } from '../../../src/client/request.ts'
import type { SeededRandom } from '../harness/seeded-random.ts'
import type { FleetNode } from './fleet-node.ts'

/** An answer that is final, or the code it was refused with for good. */
export type Heard<T> = { readonly value: T } | { readonly refused: string }

const requestMs = 5_000

/** Thrown when the run is over and the answer has not come. */
export class GaveUpError extends Error {}

/** Those who talk to the fleet: over any of its API nodes, again and again until one of them answers. */
export class People {
  readonly #nodes: readonly FleetNode[]
  readonly #random: SeededRandom
  readonly #refusals = new Map<string, number>()
  #giveUpAt = Number.POSITIVE_INFINITY

  constructor(nodes: readonly FleetNode[], random: SeededRandom) {
    this.#nodes = nodes
    this.#random = random
  }

  /** From then on no client asks again. */
  giveUpAt(at: number): void {
    this.#giveUpAt = at
  }

  anyUrl(): string {
    return this.anyNode().url
  }

  anyNode(): Pick<FleetNode, 'name' | 'url'> {
    return this.#random.pick(this.#nodes)
  }

  /** How often each code was heard. */
  refusals(): Record<string, number> {
    return Object.fromEntries(this.#refusals)
  }

  /** Asks until there is an answer; `final`: codes that are one. What is asked must bear being asked twice. */
  async ask<T>(
    who: string,
    verb: (client: Client, options: ClientOptions) => Promise<T>,
    final: readonly string[] = [],
  ): Promise<Heard<T>> {
    for (;;) {
      if (Date.now() > this.#giveUpAt) throw new GaveUpError(`${who} never got an answer`)
      const options = { url: this.anyUrl(), token: who, fetch: impatiently }
      try {
        return { value: await verb(createClient(options), options) }
      } catch (error) {
        const code = PerdureError.isInstance(error) ? error.code : String(error)
        this.#refusals.set(code, (this.#refusals.get(code) ?? 0) + 1)
        if (final.includes(code)) return { refused: code }
      }
      await sleep(this.#random.int(50, 250))
    }
  }
}

/** A node that was stopped does not answer, and closes nothing. */
async function impatiently(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const late = AbortSignal.timeout(requestMs)
  const response = await fetch(url, { ...init, signal: init.signal ? AbortSignal.any([init.signal, late]) : late })
  // Read here, while the time counts.
  return new Response(response.status === 204 ? null : await response.arrayBuffer(), response)
}
