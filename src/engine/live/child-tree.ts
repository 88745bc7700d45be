import { onAbort } from '../../base/abort.ts'
import { childCalls, childIdOf } from '../../log/child-call.ts'
import type { ConversationState } from '../../log/state.ts'
import type { Children } from '../../view/view.ts'
import { childrenOf } from '../../view/view-of.ts'
import type { Channel } from './channel.ts'
import type { Channels } from './log-poll.ts'

type Followed = { readonly channel: Channel; isRead: boolean; stop(): void }

const readAgainMs = 500

/** Follows the child agents that a conversation waits for, and theirs, and tells when one of them has changed. */
export class ChildTree {
  readonly #channels: Channels
  readonly #tenant: string
  readonly #onChange: () => void
  readonly #followed = new Map<string, Followed>()
  readonly #reading = new Set<Promise<void>>()

  constructor(channels: Channels, tenant: string, onChange: () => void) {
    this.#channels = channels
    this.#tenant = tenant
    this.#onChange = onChange
  }

  /** The children as far as they are known here. A child that has not been read yet counts as running. */
  children(id: string, state: ConversationState): Children {
    this.#follow(state)
    return childrenOf(id, state, (childId) => this.#stateOf(childId))
  }

  /** Resolves when all children that can be read have been. */
  async read(state: ConversationState): Promise<void> {
    for (this.#follow(state); this.#reading.size > 0; this.#follow(state)) await Promise.all(this.#reading)
  }

  stop(): void {
    for (const { stop } of this.#followed.values()) stop()
    this.#followed.clear()
  }

  /** Follows the children that the conversation waits for now, and stops following the others. */
  #follow(state: ConversationState): void {
    const wanted = new Set<string>()
    const want = (from: ConversationState): void => {
      for (const { callId } of childCalls(from)) {
        const childId = childIdOf(callId)
        wanted.add(childId)
        if (!this.#followed.has(childId)) this.#begin(childId)
        const child = this.#stateOf(childId)
        if (child) want(child)
      }
    }
    want(state)
    for (const [childId, { stop }] of this.#followed) {
      if (wanted.has(childId)) continue
      stop()
      this.#followed.delete(childId)
    }
  }

  #stateOf(childId: string): ConversationState | null {
    const followed = this.#followed.get(childId)
    return followed?.isRead ? followed.channel.state : null
  }

  #begin(childId: string): void {
    const channel = this.#channels.of(this.#tenant, childId)
    const tell = (): void => {
      if (followed.isRead && this.#followed.get(childId) === followed) this.#onChange()
    }
    const stopListening = channel.listen({
      appended: tell,
      replaced: tell,
      failed: () => this.#beginAgain(childId),
    })
    const followed: Followed = {
      channel,
      isRead: false,
      stop: () => {
        stopListening()
        this.#channels.tidy(this.#tenant, childId)
      },
    }
    this.#followed.set(childId, followed)
    const begun = (): void => {
      followed.isRead = true
      tell()
    }
    const reading = channel.refresh().then(begun, () => this.#beginAgain(childId))
    this.#reading.add(reading)
    void reading.finally(() => this.#reading.delete(reading))
  }

  /** A child that cannot be read now counts as running until it can. */
  #beginAgain(childId: string): void {
    const failed = this.#followed.get(childId)
    if (!failed) return
    failed.stop()
    failed.isRead = false
    const isWanted = (): boolean => this.#followed.get(childId) === failed
    this.#channels.clock.after(readAgainMs, () => isWanted() && this.#begin(childId))
  }
}

type Follow<T> = {
  readonly tenant: string
  readonly id: string
  readonly channels: Channels
  /** Not null ends the wait. */
  readonly until: (state: ConversationState, children: Children) => T | null
  readonly signal: AbortSignal
  /** What the caller has written: where the owner here knows that much, nothing is read. Null: all that there is by now counts. */
  readonly writtenSeq: number | null
}

/** Waits until the log, with those of its child agents, says something. Rejects when the signal is aborted or the log cannot be read. */
export async function follow<T>({ tenant, id, channels, until, signal, writtenSeq }: Follow<T>): Promise<T> {
  const channel = channels.of(tenant, id)
  let stop = (): void => {}
  try {
    return await new Promise<T>((resolve, reject) => {
      let isUpToDate = false
      const found = (): T | null => (channel.state ? until(channel.state, tree.children(id, channel.state)) : null)
      const look = (): void => {
        const answer = isUpToDate ? found() : null
        if (answer !== null) resolve(answer)
      }
      const tree = new ChildTree(channels, tenant, look)
      const stopListening = channel.listen({ appended: look, replaced: look, failed: reject })
      const ignoreSignal = onAbort(signal, () => reject(signal.reason))
      stop = () => {
        stopListening()
        tree.stop()
        ignoreSignal()
      }
      const begin = (): void => {
        isUpToDate = true
        look()
      }
      // The state here may be older than what the caller has written. It suffices to wait with, but not to answer from.
      const isWaiting = writtenSeq !== null && channel.beginAt(writtenSeq) && found() === null
      if (isWaiting) isUpToDate = true
      else channel.refresh().then(begin, reject)
    })
  } finally {
    stop()
    channels.tidy(tenant, id)
  }
}
