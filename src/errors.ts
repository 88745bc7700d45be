export { type ErrorCode, type ErrorFamily, errorCodes } from './base/errors/codes.ts'
export {
  ArgumentsChangedError,
  DefinitionError,
  HookError,
  InjectionOverflowError,
  InvalidAnswerError,
  ModelChoiceError,
  SchemaNotConvertibleError,
  SchemaTooComplexError,
  StateInvalidError,
  StateRefusedError,
} from './base/errors/definition-errors.ts'
export {
  DeterminismError,
  FlowStepError,
  NoSessionError,
  NoSuchAgentError,
  NoSuchFlowError,
  NotAConversationError,
  NotASessionError,
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
  ForceNeededError,
  McpServerError,
  RuntimeClosedError,
  SnapshotDeleteError,
  SnapshotLoadError,
  TenantMissingError,
  TurnNotFoundError,
  TurnSupersededError,
  WatcherLaggedError,
} from './base/errors/runtime-errors.ts'
export {
  CallNotFoundError,
  ConversationDeletedError,
  ConversationExistsError,
  ConversationNotFoundError,
  ConversationUnreadableError,
  InvalidArgumentError,
  InvalidIdError,
  KeyReusedError,
  MissingDependencyError,
  SchemaTooNewError,
  SchemaTooOldError,
  StoreBusyError,
  StoreClosedError,
  StoreError,
  SummaryOverlapError,
  SummarySupersededError,
} from './base/errors/store-errors.ts'
