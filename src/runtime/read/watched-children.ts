import type { Channel } from '../../engine/live/channel.ts'
import type { Channels } from '../../engine/live/channels.ts'
import { ChildTree } from '../../engine/live/child-tree.ts'
import type { ConversationState } from '../../log/state.ts'
import { withChildren } from '../../view/children-of.ts'
import type { LiveEvent } from '../../view/live-event.ts'
import type { Children, View } from '../../view/view.ts'

/** Tells one watcher of a conversation when its child agents begin or cease to wait for somebody. */
export class WatchedChildren {
  readonly #channel: Channel
  readonly #tree: ChildTree
  readonly #tell: (event: LiveEvent) => void
  readonly #stopListening: () => void
  /** What the watcher was told last; null before its first view. */
  #told: string | null = null

  constructor(channel: Channel, channels: Channels, tenant: string, tell: (event: LiveEvent) => void) {
    this.#channel = channel
    this.#tell = tell
    const look = (): void => this.#look()
    this.#tree = new ChildTree(channels, tenant, look)
    const replaced = (): void => {
      this.#told &&= ''
      look()
    }
    this.#stopListening = channel.listen({ appended: look, replaced, failed: () => {} })
  }

  read(state: ConversationState): Promise<void> {
    return this.#tree.read(state)
  }

  /** The watcher's first view, with the children as they are now. */
  begin(view: View): View {
    const children = this.#tree.children(view.conversationId, view.log)
    this.#told = keyOf(children)
    return withChildren(view, children)
  }

  stop(): void {
    this.#stopListening()
    this.#tree.stop()
  }

  #look(): void {
    const { state, conversationId } = this.#channel
    if (!state) return
    const children = this.#tree.children(conversationId, state)
    const key = keyOf(children)
    if (this.#told === null || key === this.#told) return
    this.#told = key
    this.#tell({ type: 'children_changed', conversationId, seq: state.lastSeq, ...children })
  }
}

function keyOf({ waiting, pending }: Children): string {
  return JSON.stringify([waiting, pending.map(({ path, round }) => [path, round])])
}
