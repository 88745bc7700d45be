export type { Clock } from './base/clock.ts'
export type { ErrorCode } from './base/errors/codes.ts'
export { PerdureError, UserFacingError } from './base/errors/perdure-error.ts'
export type { Json, JsonObject } from './base/json.ts'
export { type LogDetails, type Logger, silentLogger } from './base/logger.ts'
export type { Secret } from './base/signer.ts'
export type {
  Agent,
  AgentLimits,
  AgentOutput,
  AgentStateOf,
  AgentTools,
  AuditLevel,
  ContextAttributes,
  ContextSettings,
  RetrySettings,
  Reveal,
  TitleSettings,
} from './define/agent.ts'
export {
  createHook,
  type Halt,
  type HaltOptions,
  type Hook,
  type HookAttributes,
  halt,
  type ParallelPreHook,
  type PostHook,
  type PreHookOptions,
  postHook,
  preHook,
  type Regenerate,
  regenerate,
  type SequentialPreHook,
  type ToolHalt,
  type ToolHaltOptions,
} from './define/create-hook.ts'
export { type AgentAttributes, type AgentOverrides, defineAgent, deriveAgent } from './define/define-agent.ts'
export { defineExtension, type Extension, type ExtensionAttributes } from './define/define-extension.ts'
export {
  type CompatibleVersions,
  defineFlow,
  type Flow,
  type FlowAttributes,
  type FlowRequest,
} from './define/define-flow.ts'
export {
  type AfterHook,
  type AfterMessage,
  afterHook,
  defineSubscriber,
  type Subscriber,
  type SubscriberAttributes,
  type SubscriberContext,
  type SubscriberEvent,
  type SubscriberOptions,
  type SubscriberRetry,
  type SubscriberTopic,
  type WaitingCall,
} from './define/define-subscriber.ts'
export { defineTool, type ToolAttributes } from './define/define-tool.ts'
export type { AgentAnswer, FlowVerbs, StepContext, StepFunction, StepOptions } from './define/flow-verbs.ts'
export { type AiSdkTool, fromAiSdkTools } from './define/from-ai-sdk-tools.ts'
export type { Jsonify } from './define/jsonify.ts'
export type {
  ChunkTransformer,
  LanguageModel,
  ModelChooser,
  ModelSettings,
  StreamChunk,
  ToolChoice,
} from './define/language-model.ts'
export type { JsonSchema, Schema, SchemaInput, SchemaOutput } from './define/schema.ts'
export {
  type BuiltinScope,
  createScope,
  isSystemScope,
  type Register,
  type Scope,
  type ScopeAttributes,
  type SystemScope,
  systemScope,
} from './define/scope.ts'
export { type Shape, type ShapeAttributes, shape } from './define/shape.ts'
export type { Retention, Tool, ToolArgs, ToolInput, ToolName, ToolResultOf, ToolSet } from './define/tool.ts'
export type { AskedByTool, ToolAnswer, ToolQuestionAttributes } from './define/tool-question.ts'
export type { ToolSource } from './define/tool-source.ts'
export {
  type AnyState,
  type ContextMessage,
  createTurn,
  type FinalMessage,
  inject,
  type PartsInput,
  type StateChange,
  type StateUpdate,
  type Turn,
  type TurnAttributes,
} from './define/turn.ts'
export { type WebhookAttributes, webhook } from './define/webhook.ts'
export type { FlowEndStanding, FlowStanding, FlowStatus } from './engine/flow/flow-state.ts'
export type { AccountLimits, LimitSettings } from './engine/limits/turn-limits.ts'
export type { TurnOutcome } from './engine/live/turn-outcome.ts'
export type { Observation, Observer, Rested } from './engine/observer.ts'
export type { RestoreScope } from './engine/scopes.ts'
export type { InputPart, MessageInput, RetryOptions, SendOptions, WhenBusy } from './engine/turn-options.ts'
export type { BlobRef } from './log/blob-ref.ts'
export type { CallEnd, CallPhase } from './log/call-phase.ts'
export type {
  AssistantPart,
  DoneBefore,
  Executor,
  LogEvent,
  ModelRef,
  NewEvent,
  TurnOptions,
  Usage,
  UserPart,
} from './log/events.ts'
export type { ConversationPhase } from './log/fsm-state.ts'
export type { ConversationState } from './log/state.ts'
export { transformChunk } from './model/stream-attempt.ts'
export { gptTokenizer, type Tokenizer } from './prompt/budget/count-tokens.ts'
export type { CommonPrefix } from './prompt/common-prefix.ts'
export type { Eviction, Explanation } from './prompt/explain.ts'
export type { Answered, CallRef, WinningResolution } from './runtime/answer-call.ts'
export type {
  Authorize,
  AuthorizeAction,
  AuthorizedCall,
  AuthorizeRequest,
  AuthorizeVerdict,
} from './runtime/authorize/authorize.ts'
export type { JudgedPage } from './runtime/authorize/judged-page.ts'
export type {
  BulkFailure,
  BulkFilter,
  BulkJob,
  BulkRequest,
  BulkStart,
  SkipReason,
} from './runtime/bulk/bulk-request.ts'
export type { Bulk, BulkCount } from './runtime/bulk/bulk-verbs.ts'
export type { Conversation, ForkOptions, OutputOf, PendingOf, TurnHandle } from './runtime/conversation.ts'
export type { SetStateOptions } from './runtime/conversation-state.ts'
export { createRuntime } from './runtime/create-runtime.ts'
export type { DeadlineOptions, Extended } from './runtime/extend-deadline.ts'
export type {
  FlowRecord,
  FlowSession,
  FlowSuspension,
  SessionForkOptions,
  StartOptions,
  WaitOptions,
} from './runtime/flow-session.ts'
export { type HeldRuntime, type HoldContext, type HoldOptions, holdRuntime } from './runtime/hold-runtime.ts'
export type { PreflightOptions, PreflightPage } from './runtime/preflight/preflight.ts'
export type { PreflightFinding, PreflightKind } from './runtime/preflight/preflight-finding.ts'
export type { HistoryPage } from './runtime/read/history.ts'
export type { InspectedWork, Inspection } from './runtime/read/inspect.ts'
export type {
  InboxCall,
  InboxItem,
  InboxQuestion,
  ListedConversation,
  ListedSession,
  SessionFilter,
  SessionStatus,
} from './runtime/read/lists.ts'
export type { WatchSessionOptions } from './runtime/read/read-record.ts'
export type { WatchOptions } from './runtime/read/watch.ts'
export type { Readiness } from './runtime/readiness.ts'
export type { ResumeOptions } from './runtime/resume-session.ts'
export type { Runtime, RuntimeOptions, Verbs, Work } from './runtime/runtime.ts'
export type { SignedFiles, StateSigner } from './runtime/signed-files.ts'
export {
  type Lifecycle,
  type LoadContext,
  type PersistContext,
  type Persistence,
  type StoreSnapshotsOptions,
  storeSnapshots,
} from './snapshot/persistence.ts'
export { type MemoryStoreOptions, memoryStore } from './store/memory/memory-store.ts'
export type { Drain, NewDrain, NodeState } from './store/nodes.ts'
export type { FailedDelivery, FailedPage, SubscriberState } from './store/outbox.ts'
export type {
  ConversationFilter,
  ConversationRecord,
  ConversationRef,
  ModelCall,
  ModelCallRange,
  PendingCall,
} from './store/records.ts'
export type { SlotLimit } from './store/slots.ts'
export type { Pause, PauseTarget, SteeredBy, SteeringAct, SteeringPage } from './store/steering.ts'
export type { Store } from './store/store.ts'
export type { WorkLease, WorkPage, WorkRow, WorkState } from './store/work-rows.ts'
export { projectView, type WatchEvent } from './view/growing-view.ts'
export type {
  Activity,
  CallPath,
  Children,
  Draft,
  DraftPart,
  LiveEvent,
  PendingItem,
  View,
  ViewAssistantMessage,
  ViewCall,
  ViewMessage,
  ViewPart,
  ViewUserMessage,
} from './view/view.ts'
