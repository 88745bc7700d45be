import { type Explanation, explain } from '../context/explain.ts'
import type { Json } from '../log/json.ts'
import type { ConversationRecord, ConversationRef } from '../store/conversation-record.ts'
import type { ModelCall } from '../store/model-call.ts'
import type { TenantStore } from '../store/store.ts'

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
}

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
  }
}
