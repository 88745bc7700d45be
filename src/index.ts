export { type Clock, systemClock } from './base/clock.ts'
export { type ErrorCode, type ErrorFamily, errorCodes } from './base/errors/codes.ts'
export {
  DefinitionError,
  HookError,
  InjectionOverflowError,
  InvalidAnswerError,
  SchemaNotConvertibleError,
  SchemaTooComplexError,
} from './base/errors/definition-errors.ts'
export {
  DeterminismError,
  FlowStepError,
  NoSessionError,
  NoSuchAgentError,
  NoSuchFlowError,
  NotSuspendedError,
  SessionExistsError,
  type WinningAnswer,
} from './base/errors/flow-errors.ts'
export {
  EventInvalidError,
  EventTooLargeError,
  EventUnknownError,
  InvalidValueError,
} from './base/errors/log-errors.ts'
export {
  ContextOverflowError,
  ModelError,
  type ModelErrorCode,
  type ModelErrorDetails,
  TransformFailedError,
} from './base/errors/model-errors.ts'
export { PerdureError, UserFacingError } from './base/errors/perdure-error.ts'
export {
  AgentMismatchError,
  AgentMissingError,
  BusyError,
  ChildConversationError,
  ConversationQuarantinedError,
  RuntimeClosedError,
  SnapshotLoadError,
  TenantMissingError,
  TurnEndedError,
  TurnNotFoundError,
  WatcherLaggedError,
} from './base/errors/runtime-errors.ts'
export {
  CallNotFoundError,
  ConversationExistsError,
  ConversationNotFoundError,
  ConversationUnreadableError,
  InvalidArgumentError,
  InvalidIdError,
  KeyReusedError,
  MissingDependencyError,
  SchemaTooNewError,
  StoreBusyError,
  StoreClosedError,
  StoreError,
} from './base/errors/store-errors.ts'
export type { Json, JsonObject } from './base/json.ts'
export { consoleLogger, type LogDetails, type Logger, silentLogger } from './base/logger.ts'
export { uuidV7 } from './base/uuid-v7.ts'
export type {
  Agent,
  AgentOutput,
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
  postHook,
  preHook,
  type Regenerate,
  regenerate,
  type SequentialPreHook,
} from './define/create-hook.ts'
export { type AgentAttributes, type AgentOverrides, defineAgent, deriveAgent } from './define/define-agent.ts'
export { type CompatibleVersions, defineFlow, type Flow, type FlowAttributes } from './define/define-flow.ts'
export type { ToolAttributes } from './define/define-tool.ts'
export { defineTool } from './define/define-tool.ts'
export { type FlowRequest, isRequest, requestKind, requestPayload } from './define/flow-requests.ts'
export type { AgentAnswer, FlowVerbs, StepContext, StepFunction, StepOptions } from './define/flow-verbs.ts'
export { type AiSdkTool, fromAiSdkTools } from './define/from-ai-sdk-tools.ts'
export type { Jsonify } from './define/jsonify.ts'
export type {
  ChunkTransformer,
  LanguageModel,
  ModelSettings,
  StreamChunk,
  ToolChoice,
} from './define/language-model.ts'
export type { JsonSchema, Schema, SchemaInput, SchemaOutput } from './define/schema.ts'
export type { Register, Scope } from './define/scope.ts'
export {
  type BuiltinScope,
  createScope,
  isSystemScope,
  type ScopeAttributes,
  type SystemScope,
  systemScope,
} from './define/scope.ts'
export type { Retention, Tool, ToolArgs, ToolInput, ToolName, ToolResultOf, ToolSet } from './define/tool.ts'
export type { PartsInput } from './define/turn.ts'
export {
  type ContextMessage,
  createTurn,
  type FinalMessage,
  inject,
  type Turn,
  type TurnAttributes,
} from './define/turn.ts'
export type { FlowStanding, FlowStatus } from './engine/flow/flow-state.ts'
export type { TurnOutcome } from './engine/live/turn-outcome.ts'
export type { RestoreScope } from './engine/scopes.ts'
export type { InputPart, MessageInput, SendOptions, WhenBusy } from './engine/turn-options.ts'
export type { BlobRef } from './log/blob-ref.ts'
export { type CallEnd, type CallPhase, callEnd, callPhase, effectiveArgs } from './log/call-phase.ts'
export { childIdOf } from './log/child-call.ts'
export { decode, encode } from './log/codec.ts'
export {
  assistantMsg,
  cancelRequested,
  flowContinued,
  flowEnded,
  flowOpened,
  flowOutcome,
  flowStarted,
  injection,
  regeneration,
  resolution,
  seeded,
  suspension,
  titled,
  toolCall,
  toolResult,
  toolStarted,
  turnEnded,
  userMsg,
  withheld,
} from './log/event-constructors.ts'
export type {
  AssistantMsg,
  AssistantPart,
  CallResult,
  EventContents,
  EventOf,
  EventType,
  Executor,
  FilePart,
  FlowEnded,
  FlowFailure,
  FlowOp,
  FlowOpened,
  FlowOutcome,
  FlowStarted,
  IfInterrupted,
  Injection,
  LogEvent,
  ModelRef,
  NewEvent,
  Resolution,
  ResolutionStatus,
  Suspension,
  SuspensionKind,
  TextPart,
  ToolCallContent,
  ToolResult,
  TurnEnded,
  TurnOptions,
  TurnStatus,
  Usage,
  UserMessage,
  UserMsg,
  UserPart,
  Withheld,
} from './log/events.ts'
export { foldEvents } from './log/fold-events.ts'
export { type ConversationPhase, type ConversationStatus, type FsmState, fsmStateOf } from './log/fsm-state.ts'
export { nextStep, type Step } from './log/next-step.ts'
export { type DraftCall, type MessageOutcome, type Outcome, settle, type Verdict } from './log/settle.ts'
export type { Snapshot, SnapshotCall, SnapshotMessage, SnapshotPart } from './log/snapshot.ts'
export {
  baseOf,
  type CallState,
  type ConversationState,
  type Round,
  type TurnItem,
  type TurnState,
} from './log/state.ts'
export { validateEvent } from './log/validate-event.ts'
export { transformChunk } from './model/stream-model.ts'
export type { Tokenizer } from './prompt/budget/count-tokens.ts'
export { gptTokenizer } from './prompt/budget/count-tokens.ts'
export type { CommonPrefix } from './prompt/common-prefix.ts'
export type { Eviction } from './prompt/explain.ts'
export { type Explanation, explain } from './prompt/explain.ts'
export type { Answered, CallRef, WinningResolution } from './runtime/answer-call.ts'
export type { Conversation, ForkOptions, OutputOf, PendingOf, TurnHandle } from './runtime/conversation.ts'
export { createRuntime } from './runtime/create-runtime.ts'
export type { FlowRecord, FlowSession, FlowSuspension } from './runtime/flow-session.ts'
export type { HistoryPage } from './runtime/read/history.ts'
export type { Inspection } from './runtime/read/inspect.ts'
export type { InboxItem, ListedConversation } from './runtime/read/lists.ts'
export type { WatchOptions } from './runtime/read/watch.ts'
export type { Readiness } from './runtime/readiness.ts'
export type { ResumeOptions } from './runtime/resume-session.ts'
export type { Runtime, RuntimeOptions, Verbs } from './runtime/runtime.ts'
export type { Lifecycle, LoadContext, PersistContext, Persistence } from './snapshot/persistence.ts'
export { type StoreSnapshotsOptions, storeSnapshots } from './snapshot/persistence.ts'
export type { Change, CommitResult, ResolveCall } from './store/change.ts'
export { createStore, type StoreOptions } from './store/create-store.ts'
export type {
  CommitOutcome,
  CommitRefusal,
  Driver,
  DueCall,
  ForkOutcome,
  ForkRequest,
  PreparedChange,
  PreparedResolve,
  StoredAttrs,
  StoredCall,
  StoredCallWrite,
  StoredConversation,
  StoredEvent,
  StoredEventRange,
  StoredInboxCall,
  StoredModelCall,
  StoredSummary,
  Wake,
} from './store/driver.ts'
export { type MemoryStoreOptions, memoryDriver, memoryStore } from './store/memory/memory-store.ts'
export { type ForkPlan, type ForkSource, planFork } from './store/plan-fork.ts'
export type {
  ConversationAttrs,
  ConversationFilter,
  ConversationKind,
  ConversationRecord,
  ConversationRef,
  FinalStatus,
  ModelCall,
  ModelCallRange,
  NewModelCall,
  Parent,
  PendingCall,
  Summary,
  ToolCall,
  ToolCallWrite,
  UnreadableColumn,
} from './store/records.ts'
export { fittingRows, forkParents, mergeSettings, rowBytes } from './store/rows.ts'
export type {
  BlobSlice,
  DueWorkQuery,
  EventPage,
  EventPlace,
  EventRange,
  Page,
  PageBounds,
  Store,
  TenantStore,
  Unsubscribe,
  WakeHint,
} from './store/store.ts'
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
