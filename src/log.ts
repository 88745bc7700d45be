export type { Json, JsonObject } from './base/json.ts'
export { isRequest, requestKind, requestPayload } from './define/define-flow.ts'
export type { BlobRef } from './log/blob-ref.ts'
export { type CallEnd, type CallPhase, callEnd, callPhase, deadlineOf, effectiveArgs } from './log/call-phase.ts'
export { childIdOf } from './log/child-call.ts'
export { decode, encode } from './log/codec.ts'
export type {
  AssistantMsg,
  AssistantPart,
  CallResult,
  DeadlineMoved,
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
  HaltedBy,
  IfInterrupted,
  Injection,
  LogEvent,
  ModelRef,
  NewEvent,
  Note,
  Resolution,
  ResolutionStatus,
  Restored,
  StatePatch,
  StateRefused,
  StateSet,
  Superseded,
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
export type {
  Snapshot,
  SnapshotCall,
  SnapshotFile,
  SnapshotMessage,
  SnapshotPart,
  SnapshotPending,
  SnapshotTurn,
} from './log/snapshot.ts'
export {
  baseOf,
  type CallState,
  type ConversationState,
  type NoteItem,
  type Round,
  type TurnItem,
  type TurnState,
} from './log/state.ts'
export type { Replaced } from './log/superseded.ts'
export {
  assistantMsg,
  cancelRequested,
  deadlineMoved,
  flowContinued,
  flowEnded,
  flowOpened,
  flowOutcome,
  flowStarted,
  haltedBy,
  injection,
  note,
  regeneration,
  resolution,
  restored,
  scopeMissing,
  seeded,
  stateRefused,
  stateSet,
  superseded,
  suspension,
  titled,
  toolCall,
  toolResult,
  toolStarted,
  turnEnded,
  userMsg,
  validateEvent,
  withheld,
} from './log/validate-event.ts'
export { explain } from './prompt/explain.ts'
