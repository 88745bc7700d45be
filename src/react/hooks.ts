import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import type { RemoteConversation } from '../client/conversation.ts'
import type { RemoteSession } from '../client/create-client.ts'
import type { RemoteFlow } from '../client/flow.ts'
import type { RemoteRecord } from '../client/pages.ts'
import type { Agent } from '../define/agent.ts'
import type { Answered } from '../runtime/answer-call.ts'
import type { PendingOf } from '../runtime/conversation.ts'
import type { InboxItem } from '../runtime/read/lists.ts'
import type { TotalsFilter } from '../runtime/read/totals.ts'
import type { Draft } from '../view/view.ts'
import { ClientTools, type ClientToolsOf } from './client-tools.ts'
import { type ConversationSnapshot, noConversation } from './conversation-store.ts'
import { type ConversationVerbs, conversationVerbs } from './conversation-verbs.ts'
import type { InboxFilter, LeftItem } from './inbox-store.ts'
import type { Connection } from './link.ts'
import { type ConversationsFilter, type ListSnapshot, noList, type SessionsFilter } from './list-store.ts'
import { type ModelCallsSnapshot, noModelCalls } from './model-calls-store.ts'
import { useStores } from './provider.ts'
import { noSession, type SessionSnapshot } from './session-store.ts'
import { noTotals, type TotalsSnapshot } from './totals-store.ts'
import { newKey, untilAcknowledged } from './until-acknowledged.ts'

/** How a conversation is shown. */
export type UseConversationOptions<A extends Agent = Agent> = {
  /** The agent to begin with: required for the first message of a conversation. */
  readonly agent?: A['name']
  /** The agent's client tools that this page runs. Each call is answered with what its function returns, or with the error that it throws. */
  readonly tools?: ClientToolsOf<A>
  /**
   * `apart`: this component does not render for text that arrives. `view.drafts` says which messages are being written; `useDraft` has their text. Default:
   * `whole`.
   */
  readonly drafts?: 'whole' | 'apart'
}

/** The current view of a conversation, and its verbs. */
export type UsedConversation<A extends Agent = Agent> = ConversationSnapshot &
  ConversationVerbs & {
    /** The calls that wait for an answer, with the arguments of the agent's tools. */
    readonly pending: readonly PendingOf<A>[]
  }

/** Shows a conversation and keeps it up to date. Components with the same id share one stream. */
export function useConversation<A extends Agent = Agent>(
  id: string,
  options: UseConversationOptions<A> = {},
): UsedConversation<A> {
  const { agent, tools, drafts = 'whole' } = options
  const stores = useStores()
  const store = stores.conversation(id)
  const { subscribe, get } = drafts === 'apart' ? store.settled : store.live
  const snapshot = useSyncExternalStore(subscribe, get, () => noConversation)
  const handle = useMemo(
    () => stores.client.conversation(id, agent === undefined ? {} : { agent }),
    [stores, id, agent],
  )
  const verbs = useMemo(() => conversationVerbs(store, handle), [store, handle])
  const registered = useRef(tools)
  useEffect(() => {
    registered.current = tools
  })
  const hasTools = tools !== undefined
  useEffect(() => {
    if (hasTools) return new ClientTools(store, handle, () => registered.current ?? {}).start()
  }, [store, handle, hasTools])
  return useMemo(() => {
    const pending = (snapshot.view?.pending ?? []) as unknown as readonly PendingOf<A>[]
    return { ...verbs, ...snapshot, pending }
  }, [verbs, snapshot])
}

/**
 * The message that is being written, with the text so far. Null once it is committed or withdrawn, and if it is not known. Renders only when this message
 * changes.
 */
export function useDraft(id: string, messageId: string): Draft | null {
  const { live } = useStores().conversation(id)
  const get = (): Draft | null => live.value.view?.drafts.find((draft) => draft.messageId === messageId) ?? null
  return useSyncExternalStore(live.subscribe, get, () => null)
}

/** The current rows of a list. */
export type UsedList<Item> = ListSnapshot<Item> & {
  /** Reads the next page, and keeps it up to date from then on. Rejects when it could not be read: what is shown stays, and another call tries again. */
  loadMore(): Promise<void>
  /** Reads the list again at once. */
  reload(): Promise<void>
}

/** The conversations that match a filter, newest first, kept up to date. */
export function useConversations(filter: ConversationsFilter = {}): UsedList<RemoteRecord> {
  const { live, loadMore, reload } = useStores().conversations(filter)
  const snapshot = useSyncExternalStore(live.subscribe, live.get, nothingYet<RemoteRecord>)
  return useMemo(() => ({ ...snapshot, loadMore, reload }), [snapshot, loadMore, reload])
}

/** The sessions of flows that match a filter, newest first, kept up to date. */
export function useSessions(filter: SessionsFilter = {}): UsedList<RemoteSession> {
  const { live, loadMore, reload } = useStores().sessions(filter)
  const snapshot = useSyncExternalStore(live.subscribe, live.get, nothingYet<RemoteSession>)
  return useMemo(() => ({ ...snapshot, loadMore, reload }), [snapshot, loadMore, reload])
}

/** How many conversations and sessions there are by status, and how much waits, kept up to date. */
export function useTotals(filter: TotalsFilter = {}): TotalsSnapshot {
  const { live } = useStores().totals(filter)
  return useSyncExternalStore(live.subscribe, live.get, () => noTotals)
}

/** What is said to an item: a verdict on an approval, or the value that a question asks for. */
export type InboxAnswer =
  /** `args` run instead of the model's. */
  | { readonly approve: true; readonly args?: unknown }
  | { readonly approve: false; readonly reason?: string }
  | { readonly value: unknown }

/** The current inbox. */
export type UsedInbox = UsedList<InboxItem> & {
  /** Items that others answered, or that expired, in the last seconds. */
  readonly left: readonly LeftItem[]
  /**
   * Durable when it resolves. Not accepted when another answer came first: `resolution` says whose. Rejects with `arguments_changed` when the call has other
   * arguments than `item`.
   */
  answer(item: InboxItem, answer: InboxAnswer): Promise<Answered>
}

/** What waits for an answer, newest first, kept up to date. */
export function useInbox(filter: InboxFilter = {}): UsedInbox {
  const stores = useStores()
  const { list, left } = stores.inbox(filter)
  const { live, loadMore, reload } = list
  const snapshot = useSyncExternalStore(live.subscribe, live.get, nothingYet<InboxItem>)
  const gone = useSyncExternalStore(left.subscribe, left.get, noneLeft)
  const answer = useCallback(
    async (item: InboxItem, given: InboxAnswer): Promise<Answered> => {
      const key = newKey()
      const conversation = stores.client.conversation(item.conversationId)
      const answered = await untilAcknowledged(() => {
        const shown = { key, digest: item.digest }
        if (!('approve' in given)) return stores.client.resolve(item.conversationId, item, given.value, shown)
        const { approve: isApproved, ...options } = given
        return isApproved
          ? conversation.approve(item, { ...options, ...shown })
          : conversation.deny(item, { ...options, ...shown })
      })
      stores.answered(item)
      return answered
    },
    [stores],
  )
  return useMemo(
    () => ({ ...snapshot, loadMore, reload, left: gone, answer }),
    [snapshot, loadMore, reload, gone, answer],
  )
}

function nothingYet<Item>(): ListSnapshot<Item> {
  return noList
}

const none: readonly LeftItem[] = []
function noneLeft(): readonly LeftItem[] {
  return none
}

/** The current view of a session, and its verbs. */
export type UsedSession = SessionSnapshot &
  Omit<RemoteFlow, 'status' | 'events' | 'watch'> & {
    /** Connects again, also after the server has refused. */
    reload(): void
  }

/** Shows a session of a flow and keeps it up to date. */
export function useSession(flow: string, id: string): UsedSession {
  const stores = useStores()
  const store = stores.session(flow, id)
  const snapshot = useSyncExternalStore(store.live.subscribe, store.live.get, () => noSession)
  const verbs = useMemo(() => {
    const handle = stores.client.flow(flow, id)
    const { status: _, events: __, watch: ___, ...others } = handle
    const begins = async <T>(work: Promise<T>): Promise<T> => {
      const done = await work
      if (store.live.value.status === 'gone') void store.reload()
      return done
    }
    const start: RemoteFlow['start'] = (input, options) => {
      const key = options?.key ?? newKey()
      return begins(untilAcknowledged(() => handle.start(input, { ...options, key })))
    }
    const resume: RemoteFlow['resume'] = (value, options) => {
      const key = options?.key ?? newKey()
      return untilAcknowledged(() => handle.resume(value, { ...options, key }))
    }
    const remove = async (): Promise<boolean> => {
      const isDeleted = await handle.delete()
      store.setGone()
      return isDeleted
    }
    return { ...others, start, resume, delete: remove, reload: store.reload }
  }, [stores, store, flow, id])
  return useMemo(() => ({ ...verbs, ...snapshot }), [verbs, snapshot])
}

/** The current audit of a conversation. */
export type UsedModelCalls = ModelCallsSnapshot &
  Pick<RemoteConversation, 'modelCall' | 'explain'> & {
    /** Reads it again at once. */
    reload(): Promise<void>
  }

/** The model calls of a conversation, oldest first, read again whenever its log has grown. `modelCall` has the prompt of one. */
export function useModelCalls(id: string): UsedModelCalls {
  const stores = useStores()
  const { live, reload } = stores.modelCalls(id)
  const snapshot = useSyncExternalStore(live.subscribe, live.get, () => noModelCalls)
  return useMemo(() => {
    const { modelCall, explain } = stores.client.conversation(id)
    return { ...snapshot, modelCall, explain, reload }
  }, [stores, id, snapshot, reload])
}

/** Whether this page is connected to its server, and when it tries again if not. `retry` tries at once. */
export function useConnection(): Connection & { retry(): void } {
  const { connection, retry } = useStores().link
  const snapshot = useSyncExternalStore(connection.subscribe, connection.get, connection.get)
  return useMemo(() => ({ ...snapshot, retry }), [snapshot, retry])
}
