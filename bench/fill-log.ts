import type { Store } from '../src/store/store.ts'
import { sampleEvent } from './sample-event.ts'

const batch = 250

/** Creates a conversation with this many events. */
export async function fillLog(store: Store, id: string, events: number): Promise<void> {
  await store.putConversation(id, { agent: 'bench' })
  for (let from = 0; from < events; from += batch) {
    const size = Math.min(batch, events - from)
    await store.commit(id, { events: Array.from({ length: size }, (_, n) => sampleEvent(from + n)) })
  }
}
