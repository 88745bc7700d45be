export { type ErrorCode, errorCodes } from '../base/errors/codes.ts'
export { PerdureError } from '../base/errors/perdure-error.ts'
export { RemoteError, ServerUnreachableError } from '../base/errors/server-errors.ts'
export type { Json, JsonObject } from '../base/json.ts'
export type { TurnOutcome } from '../engine/live/turn-outcome.ts'
export { argsDigest } from '../log/codec.ts'
export type { LogEvent } from '../log/events.ts'
export { explain } from '../prompt/explain.ts'
export type { Answered, AnswerOptions, CallRef } from '../runtime/answer-call.ts'
export type { BulkFilter, BulkJob, BulkRequest, BulkStart } from '../runtime/bulk/bulk-request.ts'
export type { Bulk } from '../runtime/bulk/bulk-verbs.ts'
export type { DeadlineOptions, Extended } from '../runtime/extend-deadline.ts'
export type { HistoryPage } from '../runtime/read/history.ts'
export type {
  InboxCall,
  InboxItem,
  InboxQuestion,
  LastMessage,
  ListFilter,
  ListStatus,
  SessionFilter,
  SessionStatus,
} from '../runtime/read/lists.ts'
export type { PausedSince } from '../runtime/read/paused-rows.ts'
export type { Totals, TotalsFilter } from '../runtime/read/totals.ts'
export type { Work } from '../runtime/runtime.ts'
export type { Drain, NewDrain, NodeState } from '../store/nodes.ts'
export type { Pause, PauseTarget, SteeredBy, SteeringAct, SteeringPage } from '../store/steering.ts'
export type { WorkLease, WorkPage, WorkRow, WorkState } from '../store/work-rows.ts'
export type { ModelTokens, Percentiles, Stats, StatsBucket, StatsNode, StatsWindow } from '../upkeep/stats.ts'
export { foldView, projectView, type WatchEvent } from '../view/growing-view.ts'
export type { Draft, DraftPart, LiveEvent, PendingItem, View, ViewMessage, ViewPart } from '../view/view.ts'
export type { ChatRequest, ChatSending } from './chat-turns.ts'
export type { RemoteConversation, RemoteMessage, RemotePart, RemoteSendOptions } from './conversation.ts'
export { type Client, createClient, type RemoteSession } from './create-client.ts'
export type { RemoteFleet } from './fleet.ts'
export type { RemoteFlow, RemoteFlowStatus, RemoteStanding, WatchedSession } from './flow.ts'
export type { LiveFrame, LiveOptions, WaitingCall } from './live.ts'
export type { Explanation, ModelCallSummary, RemoteModelCall, RemoteRecord } from './pages.ts'
export { type PerdureTransport, perdureTransport, type TransportOptions } from './perdure-transport.ts'
export type { ClientOptions } from './request.ts'
export type { ChatMessage } from './shown-message.ts'
export type { Watched, WatchOptions } from './watch.ts'
