export type { ClientTool, ClientToolCall, ClientToolsOf } from './client-tools.ts'
export type { ConversationSnapshot, SendingMessage } from './conversation-store.ts'
export type { ConversationVerbs } from './conversation-verbs.ts'
export {
  type InboxAnswer,
  type UseConversationOptions,
  type UsedConversation,
  type UsedInbox,
  type UsedList,
  type UsedModelCalls,
  type UsedSession,
  useConnection,
  useConversation,
  useConversations,
  useDraft,
  useInbox,
  useModelCalls,
  useSession,
  useSessions,
  useTotals,
} from './hooks.ts'
export type { InboxFilter, LeftItem } from './inbox-store.ts'
export type { Connection } from './link.ts'
export type { ConversationsFilter, ListSnapshot, SessionsFilter } from './list-store.ts'
export type { LiveStatus } from './live-store.ts'
export type { ModelCallsSnapshot } from './model-calls-store.ts'
export { PerdureProvider, type PerdureProviderProps, useClient } from './provider.ts'
export type { SessionSnapshot } from './session-store.ts'
export type { TotalsSnapshot } from './totals-store.ts'
