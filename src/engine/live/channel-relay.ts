import type { LiveContent, LiveEvent } from '../../view/view.ts'

/** What carries the live events of a channel to other nodes, and those of other nodes here: see `LiveRelay`. Must not throw. */
export type ChannelRelay = {
  /** Its listeners, its owners or its log have changed. */
  changed(): void
  /** An owner began to work here. */
  attached(): void
  /** The owner in this process published an event, under the epoch of its lease. */
  emitted(event: LiveEvent, epoch: number): void
  /** Resolves when what is live at another node is known here, or does not come in time. */
  known(): Promise<void>
}

/** What an owner says beside the log, under the epoch of its lease. */
export type LiveVoice = {
  emit(content: LiveContent, seq: number): void
  /** The owner is gone: what it had not committed is withdrawn. */
  withdraw(seq: number): void
}
