import type { Watched } from '../../../src/client/index.ts'

/** Finds what a stream repeats or leaves out: log events count up by one, and so do the deltas of a message, until a snapshot stands for them. */
export class SequenceCheck {
  readonly violations: string[] = []
  readonly counts = { deltas: 0, logEvents: 0, snapshots: 0, discarded: 0 }
  #seq: number | null = null
  readonly #written = new Map<string, number>()

  take({ event }: Watched): void {
    if (event.type === 'snapshot') {
      this.counts.snapshots += 1
      this.#seq = event.view.seq
      this.#written.clear()
      for (const { messageId, n } of event.view.drafts) this.#written.set(messageId, n)
    } else if ('content' in event) {
      this.counts.logEvents += 1
      if (this.#seq !== null && event.seq !== this.#seq + 1)
        this.violations.push(`event ${event.seq} came after ${this.#seq}`)
      this.#seq = event.seq
    } else if ('delta' in event) {
      this.counts.deltas += 1
      const before = this.#written.get(event.messageId) ?? 0
      if (event.n !== before + 1) this.violations.push(`delta ${event.n} of '${event.messageId}' came after ${before}`)
      this.#written.set(event.messageId, event.n)
    } else if (event.type === 'message_discarded') {
      this.counts.discarded += 1
      this.#written.delete(event.messageId)
    }
  }
}
