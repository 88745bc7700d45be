import type { Clock } from '../../base/clock.ts'
import type { LogOwner } from '../log-owner.ts'

type Held = { readonly owner: Pick<LogOwner, 'close'> | null }

/** A node that an operator has drain: it takes nothing, and when its time is over it hands over what it still holds. */
export class NodeDrain {
  readonly #clock: Clock
  readonly #held: () => Iterable<Held>
  #state: 'off' | 'draining' | 'handing_over' = 'off'
  #callOff: () => void = () => {}

  constructor(clock: Clock, held: () => Iterable<Held>) {
    this.#clock = clock
    this.#held = held
  }

  /** Whether the node takes nothing. */
  get isOn(): boolean {
    return this.#state !== 'off'
  }

  /** Whether what is loaded now must be handed over at once. */
  get isOver(): boolean {
    return this.#state === 'handing_over'
  }

  begin(drainMs: number): void {
    if (this.isOn) return
    this.#state = 'draining'
    this.#callOff = this.#clock.after(drainMs, () => {
      this.#state = 'handing_over'
      for (const { owner } of this.#held()) void owner?.close()
    })
  }

  end(): void {
    this.#state = 'off'
    this.#callOff()
  }
}
