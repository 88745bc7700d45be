import { GrowingView, type WatchEvent } from '../../view/growing-view.ts'
import { isTextDelta } from '../../view/live-parts.ts'
import type { View } from '../../view/view.ts'

/** Shows a view whenever it has changed: text as it comes, and once for all other events of a moment. Resolves when the events end, and all of them were shown. */
export async function showViews(events: AsyncIterable<WatchEvent>, show: (view: View) => void): Promise<void> {
  let growing: GrowingView | null = null
  let soon: NodeJS.Immediate | null = null
  const tell = (): void => {
    if (soon) clearImmediate(soon)
    soon = null
    if (growing) show(growing.view)
  }
  try {
    for await (const event of events) {
      if (growing) growing.take(event)
      else if (event.type === 'snapshot') growing = new GrowingView(event.view)
      if (isTextDelta(event)) tell()
      else soon ??= setImmediate(tell)
    }
  } finally {
    if (soon) tell()
  }
}
