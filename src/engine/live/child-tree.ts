import { childCalls, childIdOf } from '../../log/child-call.ts'
import type { ConversationState } from '../../log/state.ts'
import { childrenOf } from '../../view/children-of.ts'
import type { Children } from '../../view/view.ts'
import type { Channel } from './channel.ts'
import type { Channels } from './channels.ts'

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

  /** As far as they are known here. One that has not been read yet counts as running. */
  children(id: string, state: ConversationState): Children {
    this.#follow(state)
    return childrenOf(id, state, (childId) => this.#stateOf(childId))
  }

  /** Resolves when all that can be read have been. */
  async read(state: ConversationState): Promise<void> {
    for (this.#follow(state); this.#reading.size > 0; this.#follow(state)) await Promise.all(this.#reading)
  }

  stop(): void {
    for (const { stop } of this.#followed.values()) stop()
    this.#followed.clear()
  }

  /** Begins to follow whom it waits for now, and lets go of the others. */
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

  /** One that cannot be read now counts as running until it can. */
  #beginAgain(childId: string): void {
    const failed = this.#followed.get(childId)
    if (!failed) return
    failed.stop()
    failed.isRead = false
    const isWanted = (): boolean => this.#followed.get(childId) === failed
    this.#channels.clock.after(readAgainMs, () => isWanted() && this.#begin(childId))
  }
}
