import type { ErrorCode } from '../../../src/base/errors/codes.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import type { NewEvent } from '../../../src/log/events.ts'
import type { ConversationStatus, FsmState } from '../../../src/log/fsm-state.ts'
import type { ConversationKind, Parent, Summary, ToolCall } from '../../../src/store/records.ts'
import type { Span } from '../compare/span.ts'

/** What a store must hold, as plain values. Written from the contract; shares nothing with the drivers. */
export class Contract {
  readonly tenants = new Map<string, Tenant>()
  /** Every epoch ever given out is smaller than the next. */
  greatestEpoch = 0
  /** Whether a subscriber is registered, so that commits record what it is told. */
  isSubscribed = false
  /** When that subscriber was claimed last, to the hour. */
  claimedAt = 0

  tenant(name: string): Tenant {
    let tenant = this.tenants.get(name)
    if (!tenant) {
      tenant = {
        conversations: new Map(),
        calls: new Map(),
        blobs: new Map(),
        snapshots: new Map(),
        tombstones: new Set(),
      }
      this.tenants.set(name, tenant)
    }
    return tenant
  }
}

export type Tenant = {
  readonly conversations: Map<string, Conversation>
  readonly calls: Map<string, Call>
  readonly blobs: Map<string, Blob>
  readonly snapshots: Map<string, unknown>
  /** Ids that were deleted: never seeded again. */
  readonly tombstones: Set<string>
}

export type Conversation = {
  readonly id: string
  kind: ConversationKind
  agent: string | null
  owner: string | null
  status: ConversationStatus
  settings: JsonObject
  fsmState: FsmState | null
  /** Where a commit that knew the log left nothing open. */
  idleSeq: number
  title: string | null
  parent: Parent | null
  readonly createdAt: Span
  updatedAt: Span
  events: Event[]
  /** `epoch`: of the lease that the change took with it. */
  readonly keys: Map<string, { readonly seq: number; readonly digest: string | undefined; epoch: number | null }>
  readonly summaries: Map<number, Summary>
  modelCalls: AuditRow[]
  wakeAt: Span | null
  isDormant: boolean
  lease: Lease | null
  /** The subscriber was told up to here, or was never to be: what a fork copies is not told. */
  toldSeq: number
}

export type Lease = {
  readonly holder: string
  readonly epoch: number
  until: Span
  claimedAt: Span
  /** Epochs of the leases before it that lapsed soon after they were claimed. */
  lapsed: readonly number[]
}

export type Event = { readonly type: NewEvent['type']; readonly content: unknown; readonly at: Span }

export type Call = Omit<ToolCall, 'expiresAt' | 'createdAt' | 'resolvedAt'> & {
  readonly expiresAt: Span | null
  readonly createdAt: Span
  readonly resolvedAt: Span | null
}

export type Blob = {
  readonly bytes: Uint8Array
  readonly mediaType: string
  pins: number
  /** Conversation to the first seq of the commit that brought the ref. */
  readonly references: Map<string, number>
}

export type AuditRow = { readonly turnRef: string; readonly at: Span; readonly rest: Readonly<Record<string, unknown>> }

/** The contract says no: the store must throw an error of this code. */
export class Refused extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode) {
    super(code)
    this.code = code
  }
}

export function newConversation(id: string, at: Span): Conversation {
  return {
    id,
    kind: 'conversation',
    agent: null,
    owner: null,
    status: 'idle',
    settings: {},
    fsmState: null,
    idleSeq: 0,
    title: null,
    parent: null,
    createdAt: at.copy(),
    updatedAt: at.copy(),
    events: [],
    keys: new Map(),
    summaries: new Map(),
    modelCalls: [],
    wakeAt: null,
    isDormant: false,
    lease: null,
    toldSeq: 0,
  }
}

/** As databases compare text: by its UTF-8 bytes. */
export function byBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

type Dated = { readonly id: string; readonly createdAt: Span }

export function newestFirst(left: Dated, right: Dated): number {
  return right.createdAt.at - left.createdAt.at || byBytes(right.id, left.id)
}
