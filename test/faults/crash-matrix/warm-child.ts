import type { Crash } from '../../simulator/plan.ts'
import type { Told } from '../../simulator/scenarios/scenario.ts'
import { type ChildEnd, spawnChild } from '../harness/spawn-child.ts'
import type { Begin, ChildInput, ChildMessage } from './plan.ts'

const patienceMs = 60_000

/** What became of a child, and everything it had said. */
export type ChildLife = {
  readonly end: ChildEnd
  readonly told: readonly Told[]
  readonly problems: readonly string[]
  /** Null when it was killed. */
  readonly passings: Readonly<Record<string, number>> | null
}

/** A process that is loaded and waits to be told where to die. */
export class WarmChild {
  readonly #child: ReturnType<typeof spawnChild>
  readonly #ready: Promise<void>
  readonly #told: Told[] = []
  readonly #problems: string[] = []
  #passings: Readonly<Record<string, number>> | null = null

  constructor(input: ChildInput) {
    let isReady = (): void => {}
    this.#ready = new Promise((resolve) => {
      isReady = resolve
    })
    this.#child = spawnChild<ChildMessage>({
      script: new URL('./child.ts', import.meta.url),
      input,
      onMessage: (message) => {
        if (message.type === 'ready') isReady()
        if (message.type === 'told') this.#told.push(message.told)
        if (message.type === 'problem') this.#problems.push(message.problem)
        if (message.type === 'done') this.#passings = message.passings
      },
    })
    void this.#child.ended.then(isReady)
  }

  async live(prefix: string, crash: Crash | null): Promise<ChildLife> {
    await this.#ready
    this.#child.tell(JSON.stringify({ prefix, crash } satisfies Begin))
    const late = setTimeout(() => {
      this.#problems.push(`the child was not done after ${patienceMs} ms`)
      this.#child.kill()
    }, patienceMs)
    const end = await this.#child.ended
    clearTimeout(late)
    return { end, told: this.#told, problems: this.#problems, passings: this.#passings }
  }

  async dismiss(): Promise<void> {
    this.#child.kill()
    await this.#child.ended
  }
}
