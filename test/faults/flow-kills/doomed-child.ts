import { spawnChild } from '../harness/spawn-child.ts'
import type { Target } from '../harness/target.ts'
import type { ChildMessage, ChildOrder } from './order.ts'

const patienceMs = 60_000

export type StepRun = { readonly step: string; readonly id: string }

export type ChildLife = {
  readonly wasKilled: boolean
  readonly complaint: string
  readonly ran: readonly StepRun[]
  /** Null when it was killed. */
  readonly done: Extract<ChildMessage, { type: 'done' }> | null
}

/** A process that is loaded and waits to be told where to die. */
export class DoomedChild {
  readonly #child: ReturnType<typeof spawnChild>
  readonly #ran: StepRun[] = []
  readonly #ready: Promise<void>
  #done: ChildLife['done'] = null

  constructor(target: Target) {
    let isReady = (): void => {}
    this.#ready = new Promise((resolve) => {
      isReady = resolve
    })
    this.#child = spawnChild<ChildMessage>({
      script: new URL('./child.ts', import.meta.url),
      input: target,
      onMessage: (message) => {
        if (message.type === 'ready') isReady()
        if (message.type === 'ran') this.#ran.push({ step: message.step, id: message.id })
        if (message.type === 'done') this.#done = message
      },
    })
    void this.#child.ended.then(isReady)
  }

  async live(order: ChildOrder): Promise<ChildLife> {
    await this.#ready
    this.#child.tell(JSON.stringify(order))
    const late = setTimeout(() => this.#child.kill(), patienceMs)
    const { signal, code, complaint } = await this.#child.ended
    clearTimeout(late)
    const told = signal === 'SIGKILL' || code === 0 ? '' : `it ended with ${code}: ${complaint}`
    return { wasKilled: signal === 'SIGKILL', complaint: told, ran: this.#ran, done: this.#done }
  }

  async dismiss(): Promise<void> {
    this.#child.kill()
    await this.#child.ended
  }
}
