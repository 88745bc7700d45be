import { EventUnknownError } from '../../base/errors/log-errors.ts'
import { readOptions } from '../../base/errors/read-options.ts'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import { loadChildren } from '../../engine/child/child-calls.ts'
import type { Channels } from '../../engine/live/log-poll.ts'
import { emptyState } from '../../log/state.ts'
import { foldWithin, shownBytes, trimState } from '../../log/trim-state.ts'
import { knownPart } from '../../log/validate-event.ts'
import { checkWhole } from '../../store/checks.ts'
import { pagesAfter } from '../../store/log-pages.ts'
import { usableBase } from '../../store/records.ts'
import type { TenantStore } from '../../store/store.ts'
import { loadReadable, loadWhole, type WorkingSets } from '../../store/working-sets.ts'
import type { View } from '../../view/view.ts'
import { childrenOf, viewOf, withChildren } from '../../view/view-of.ts'

/** How much of a conversation is shown. */
export type ViewOptions = {
  /** About how many bytes of its newest messages; `View.before` says where the rest is. Default: 1 MiB. */
  readonly maxBytes?: number
  /**
   * As it was after this event, without anything live: what a fork at this event shows, with the calls that were open then. 0: before the first. Reads the log
   * from its newest summary at or before it, else from its beginning. Default: now.
   */
  readonly at?: number
}

type Parts = {
  readonly tenant: string
  readonly store: TenantStore
  readonly workingSets: WorkingSets
  readonly channels: Channels
}

/** What a person is shown now, with what is live here. A log that a later version has written to is shown up to there. */
export async function readView(parts: Parts, id: string, options?: ViewOptions): Promise<View> {
  const { maxBytes = shownBytes, at } = readOptions('options', options, ['maxBytes', 'at'])
  checkWhole('maxBytes', maxBytes, 1)
  if (at !== undefined) return readViewAt(parts, id, at, maxBytes)
  const { tenant, channels } = parts
  const { state, unknownEvent } = await readState(parts, id, maxBytes)
  const leave = await channels.joined(tenant, id, state)
  const channel = channels.peek(tenant, id)
  const children = await loadChildren(parts, state)
  const view = channel ? channel.viewOf(state, maxBytes) : viewOf(id, trimState(state, maxBytes))
  leave()
  const whole = withChildren(
    view,
    childrenOf(id, state, (childId) => children.get(childId) ?? null),
  )
  return unknownEvent ? { ...whole, unknownEvent } : whole
}

async function readViewAt({ store }: Parts, id: string, at: number, maxBytes: number): Promise<View> {
  checkWhole('at', at, 0)
  const summary = await store.latestSummary(id)
  const base = summary && summary.toSeq <= at ? usableBase(summary) : null
  let state = base ? { ...base, hasOlder: true } : emptyState
  for await (const page of pagesAfter(store, id, { after: state.lastSeq, before: at + 1 })) {
    const { known, unknownEvent } = knownPart([...page.events])
    state = foldWithin(known, state, 2 * maxBytes, maxBytes)
    if (unknownEvent) return { ...viewOf(id, trimState(state, maxBytes)), unknownEvent }
  }
  if (state.lastSeq < at)
    throw new InvalidArgumentError('at', `is ${at}, past the end of '${id}' at ${state.lastSeq}; use a seq of its log`)
  return viewOf(id, trimState(state, maxBytes))
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
