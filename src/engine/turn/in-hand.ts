import type { Redact } from '../../base/redact/redactor.ts'
import type { Outcome } from '../../log/settle.ts'
import { redactOutcome } from './redact-outcome.ts'

type Entry = { readonly outcome: Outcome; readonly settled?: (isCommitted: boolean) => void }

/** What has happened here and is not in the log yet, without the secrets in it. */
export class InHand {
  readonly #redact: Redact
  #entries: Entry[] = []

  constructor(redact: Redact) {
    this.#redact = redact
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  outcomes(): Outcome[] {
    return this.#entries.map(({ outcome }) => outcome)
  }

  /** `settled` is told whether it got into the log. */
  add(outcome: Outcome, settled?: (isCommitted: boolean) => void): void {
    const redacted = redactOutcome(outcome, this.#redact)
    this.#entries.push(settled ? { outcome: redacted, settled } : { outcome: redacted })
  }

  /** They are in the log, or have no place in it any more. */
  settle(outcomes: readonly Outcome[]): void {
    if (outcomes.length === 0) return
    const isSettled = new Set(outcomes)
    const settled = this.#entries.filter(({ outcome }) => isSettled.has(outcome))
    this.#entries = this.#entries.filter(({ outcome }) => !isSettled.has(outcome))
    for (const entry of settled) entry.settled?.(true)
  }

  /** Nothing will come of them. */
  drop(): void {
    for (const { settled } of this.#entries.splice(0)) settled?.(false)
  }

  hasResult(callId: string): boolean {
    return this.#entries.some(({ outcome }) => outcome.type === 'result' && outcome.callId === callId)
  }

  /** There is only ever one cancel. */
  replaceCancel(cancel: Extract<Outcome, { type: 'cancel' }>): void {
    this.#entries = this.#entries.filter(({ outcome }) => outcome.type !== 'cancel')
    this.add(cancel)
  }
}
