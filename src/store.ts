export { systemClock } from './base/clock.ts'
export { StoreError } from './base/errors/store-errors.ts'
export { consoleLogger } from './base/logger.ts'
export { uuidV7 } from './base/uuid-v7.ts'
export type { Accounts, Borrowed, BorrowRequest, SlotPlace } from './store/accounts.ts'
export type { Spending } from './store/budget.ts'
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
export { type LiveBus, type LiveLink, type LiveMessage, type LiveReceiver, processLiveBus } from './store/live-bus.ts'
export { memoryDriver } from './store/memory/memory-store.ts'
export type { Drain, NewDrain, NodeBeat, NodeState, Nodes, NodesDriver } from './store/nodes.ts'
export type {
  ClaimDeliveries,
  Delivery,
  DeliveryEnd,
  FailedDelivery,
  FailedPage,
  Outbox,
  Registered,
  SettledDelivery,
  SubscriberState,
  Subscription,
} from './store/outbox.ts'
export { type ForkPlan, type ForkSource, planFork } from './store/plan-fork.ts'
export type {
  CallKind,
  CallNotice,
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
export { fitsBeside } from './store/records.ts'
export { fittingRows, forkParents, mergeSettings, rowBytes } from './store/rows.ts'
export type { AccountSlots, DueLimits, HeldSlots, SlotLimit, SlotLimits } from './store/slots.ts'
export type { StoredTarget } from './store/steered-by.ts'
export type {
  PausableRow,
  Pause,
  PauseTarget,
  SteeredBy,
  Steering,
  SteeringAct,
  SteeringDriver,
  SteeringPage,
  StoredAct,
  StoredPause,
} from './store/steering.ts'
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
export type { ReadWorkPage, WorkLease, WorkPage, WorkRow, WorkState } from './store/work-rows.ts'
