import { withDeadline } from '../../base/abort.ts'
import { TurnNotFoundError, WatcherLaggedError } from '../../base/errors/runtime-errors.ts'
import { ConversationNotFoundError, InvalidArgumentError } from '../../base/errors/store-errors.ts'
import type { RemoteConversation } from '../../client/conversation.ts'
import type { RemoteRecord } from '../../client/pages.ts'
import { views, type Watched, type WatchOptions, type WithMore } from '../../client/watch.ts'
import type { SendOptions } from '../../engine/turn-options.ts'
import type { Explanation } from '../../prompt/explain.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { ExplanationPage } from '../../runtime/read/explain-log.ts'
import type { Verbs } from '../../runtime/runtime.ts'
import type { ConversationRecord } from '../../store/records.ts'

/** Whoever works on it may be another process, or none: then the cancel is durable, and waits. */
const cancelWaitMs = 3_000

/** A conversation of a store, with the verbs it has on a server. All but `send` refuse one that does not exist. */
export function localConversation(verbs: Verbs, id: string, agent?: string): RemoteConversation {
  const handle: Conversation = agent === undefined ? verbs.conversation(id) : verbs.conversation(id, { agent })
  const inspection = verbs.inspect(id)

  async function existing(): Promise<ConversationRecord> {
    const record = await inspection.record()
    if (record?.kind !== 'conversation') throw new ConversationNotFoundError(id)
    return record
  }
  async function on<T>(work: (conversation: Conversation) => Promise<T>): Promise<T> {
    await existing()
    return work(handle)
  }
  async function* watch({ after, signal }: WatchOptions = {}): AsyncGenerator<Watched, void, void> {
    await existing()
    let last = after === undefined ? undefined : seqOf(after)
    while (!signal?.aborted) {
      try {
        const options = { ...(last === undefined ? {} : { after: last }), ...(signal ? { signal } : {}) }
        for await (const event of handle.watch(options)) {
          if (event.type === 'snapshot') last = event.view.seq
          else if ('content' in event) last = event.seq
          yield { id: last === undefined ? null : String(last), event }
        }
        return
      } catch (error) {
        if (!(error instanceof WatcherLaggedError)) throw error
        last = error.after
      }
    }
  }

  return {
    id,
    send: async (message, options = {}) => ({ turnId: (await handle.send(message, options as SendOptions)).turnId }),
    outcome: (turnId) => on((conversation) => conversation.turn(turnId).outcome()),
    cancel: (options = {}) =>
      on(async (conversation) => {
        const cancel = async (signal: AbortSignal) => ({ outcome: await conversation.cancel({ ...options, signal }) })
        return (await withDeadline(cancel, cancelWaitMs))?.outcome ?? stillEnding(conversation)
      }),
    approve: (call, options) => on((conversation) => conversation.approve(call, options)),
    deny: (call, options) => on((conversation) => conversation.deny(call, options)),
    answer: (call, value, options) => on((conversation) => conversation.answer(call, value, options)),
    resolve: (call, value, options) => on(() => verbs.resolve(id, call, value, options)),
    record: async () => listed(await existing()),
    view: () => on((conversation) => conversation.view()),
    history: (page) => on((conversation) => conversation.history(page)),
    events: (range) => on((conversation) => conversation.events({ limit: 200, ...range })),
    async *eventPages(range) {
      await existing()
      for await (const { events } of inspection.pages(range)) yield [...events]
    },
    watch,
    views: (options) => views(oneByOne(watch(options))),
    fork: (options) => on(async (conversation) => localConversation(verbs, (await conversation.fork(options)).id)),
    forks: (page) => on(async (conversation) => (await conversation.forks(page)).map(listed)),
    lineage: () => on((conversation) => conversation.lineage()),
    continue: () => on((conversation) => conversation.continue()),
    delete: () => on(async (conversation) => void (await conversation.delete())),
    modelCalls: () =>
      on(async () => {
        const calls = await inspection.modelCalls({ contexts: false })
        return calls.map(({ renderedContext: _, ...summary }) => summary)
      }),
    modelCall: (turnRef) =>
      on(async () => {
        const attempts = await inspection.modelCalls({ turnRef })
        if (attempts.length === 0) throw new TurnNotFoundError(id, turnRef)
        return attempts
      }),
    explain: (turnRef) =>
      on(async () => {
        const explanations: Explanation[] = []
        for (let after: number | null = 0; after !== null; ) {
          const page: ExplanationPage | null = await inspection.explain(turnRef, { after })
          if (!page) throw new TurnNotFoundError(id, turnRef)
          explanations.push(...page.explanations)
          after = page.after
        }
        return explanations
      }),
    snapshot: () => on(() => inspection.snapshot()),
  }
}

async function* oneByOne(watching: AsyncIterable<Watched>): AsyncGenerator<WithMore, void, void> {
  for await (const watched of watching) yield { watched, hasMore: false }
}

/** What a list tells of it. */
export function listed({ settings: _, fsmState: __, quarantine, ...record }: ConversationRecord): RemoteRecord {
  return quarantine ? { ...record, quarantinedAt: quarantine.at } : record
}

/** A turn that nobody ends now; null when there was none to end. */
async function stillEnding(conversation: Conversation): Promise<{ readonly status: 'terminating' } | null> {
  const { state } = await conversation.view()
  return state === 'terminating' ? { status: 'terminating' } : null
}

function seqOf(after: number | string): number {
  const seq = Number(after)
  if (!Number.isSafeInteger(seq) || seq < 0) throw new InvalidArgumentError('after', `is '${after}', which is no seq`)
  return seq
}
