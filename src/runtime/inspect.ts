import { type Explanation, explain } from '../context/explain.ts'
import { blobRefsIn } from '../log/blob-refs-in.ts'
import type { Json } from '../log/json.ts'
import type { ConversationRecord, ConversationRef } from '../store/conversation-record.ts'
import type { ModelCall } from '../store/model-call.ts'
import type { TenantStore } from '../store/store.ts'
import { historyTurns, type TurnPage } from './history.ts'
import { shownEvents } from './shown-events.ts'

/** What is kept of a conversation or session beside its log. Reads only. */
export type Inspection = {
  /** Where it is, whoever asks: two scopes of one tenant have the same. */
  readonly ref: ConversationRef
  /** Null when there is none. */
  record(): Promise<ConversationRecord | null>
  /** What each model call was given, as far as the agent's audit keeps it. */
  modelCalls(): Promise<ModelCall[]>
  /** How each event was in the prompt of a call; of several attempts the last. Null when there is no such call. */
  explain(turnRef: string): Promise<Explanation[] | null>
  snapshot(): Promise<Json>
  /** Whole turns, the newest first, as they fold. */
  turns(page?: { readonly before?: number; readonly limit?: number }): Promise<TurnPage>
  /** A file that the log refers to, by the hash of its bytes. Null when it refers to none such. */
  file(blob: string): Promise<{ readonly bytes: Uint8Array; readonly mediaType: string } | null>
}

const eventsPerRead = 200

export function inspect(store: TenantStore, ref: ConversationRef): Inspection {
  const { id } = ref
  return {
    ref,
    record: () => store.getConversation(id),
    modelCalls: () => store.modelCalls(id),
    async explain(turnRef) {
      const call = (await store.modelCalls(id)).findLast((candidate) => candidate.turnRef === turnRef)
      return call ? explain(await store.streamEvents(id), call) : null
    },
    snapshot: () => store.getSnapshot(id),
    turns: (page) => historyTurns(store, id, page),
    async file(blob) {
      return (await refersTo(store, id, blob)) ? store.getBlob({ blob, mediaType: '', size: 0 }) : null
    },
  }
}

/** Blobs belong to a tenant. Only those that a conversation has shown are shown to whoever may read it. */
async function refersTo(store: TenantStore, id: string, blob: string): Promise<boolean> {
  for (let before: number | undefined; ; ) {
    const range = before === undefined ? {} : { before }
    const events = await shownEvents((wanted) => store.streamEvents(id, wanted), { ...range, limit: eventsPerRead })
    if (events.some(({ content }) => blobRefsIn(content as Json).includes(blob))) return true
    if (events.length < eventsPerRead) return false
    before = events[0]!.seq
  }
}
