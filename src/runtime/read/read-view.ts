import { EventUnknownError } from '../../base/errors/log-errors.ts'
import { readOptions } from '../../base/errors/read-options.ts'
import { loadChildren } from '../../engine/child/child-calls.ts'
import type { Channels } from '../../engine/live/log-poll.ts'
import { shownBytes, trimState } from '../../log/trim-state.ts'
import { checkWhole } from '../../store/checks.ts'
import type { TenantStore } from '../../store/store.ts'
import { loadReadable, loadWhole, type WorkingSets } from '../../store/working-sets.ts'
import type { View } from '../../view/view.ts'
import { childrenOf, viewOf, withChildren } from '../../view/view-of.ts'

/** How much of a conversation is shown. */
export type ViewOptions = {
  /** About how many bytes of its newest messages; `View.before` says where the rest is. Default: 1 MiB. */
  readonly maxBytes?: number
}

type Parts = {
  readonly tenant: string
  readonly store: TenantStore
  readonly workingSets: WorkingSets
  readonly channels: Channels
}

/** What a person is shown now, with what is live here. A log that a later version has written to is shown up to there. */
export async function readView(parts: Parts, id: string, options?: ViewOptions): Promise<View> {
  const { maxBytes = shownBytes } = readOptions('options', options, ['maxBytes'])
  checkWhole('maxBytes', maxBytes, 1)
  const { tenant, channels } = parts
  const channel = channels.peek(tenant, id)
  const { state, unknownEvent } = await readState(parts, id, maxBytes)
  const children = await loadChildren(parts, state)
  const view = channel ? channel.viewOf(state, maxBytes) : viewOf(id, trimState(state, maxBytes))
  const whole = withChildren(
    view,
    childrenOf(id, state, (childId) => children.get(childId) ?? null),
  )
  return unknownEvent ? { ...whole, unknownEvent } : whole
}

async function readState(
  { store, workingSets, tenant }: Parts,
  id: string,
  maxBytes: number,
): ReturnType<typeof loadReadable> {
  try {
    const { state } = await workingSets.load(store, tenant, id)
    if (!state.isTrimmed || maxBytes <= shownBytes) return { state, unknownEvent: null }
    // What is kept of a large conversation is less than what is asked for.
    const larger = await loadWhole(store, id, { most: 2 * maxBytes, kept: maxBytes })
    return { state: larger.state, unknownEvent: null }
  } catch (error) {
    if (error instanceof EventUnknownError) return loadReadable(store, id)
    throw error
  }
}
