import type { FsmState } from '../log/fsm-state.ts'
import type { Change } from '../store/change.ts'
import type { Fork } from '../store/claim-due.ts'
import type { ConversationRef } from '../store/records.ts'
import type { SlotLimit } from '../store/slots.ts'
import type { EventPage } from '../store/store.ts'
import type { WorkingSet } from '../store/working-sets.ts'

/**
 * Asks for the lease of a conversation together with the commit that gives it something to do:
 *
 *     const request = worker.requestLease(ref, agent.name)
 *     const result = await request.during(() => store.commit(id, { ...change, ...request.acquire() }))
 *     // Durable from here.
 *     worker.start(request, request.granted(result))
 */
export type LeaseRequest = {
  readonly ref: ConversationRef
  /** Of the agent or flow that works on it; null where this node has none to name. */
  readonly name: string | null
  /** Runs the commit. The hint of a commit that is under way starts no search, and its lease is not taken for a lost one. Starts no work. */
  during<T>(commit: () => Promise<T>): Promise<T>
  /** What the change says to ask for the lease; nothing where this node could not work under it. Must be called just before each commit. */
  acquire(): Pick<Change, 'acquire'>
  /** The lease that came with the commit; null where none did. `known`: the log as the commit left it, so that it need not be read. */
  granted(result: Committed, known?: CommittedLog | null): GrantedLease | null
}

/** `limited`: the limit that kept the commit from taking the lease. */
type Committed = { readonly ok: boolean; readonly epoch?: number; readonly limited?: SlotLimit }

/** The log as a commit left it that opened a turn where none was open or queued, and the cached state that the commit wrote. */
export type CommittedLog = { readonly workingSet: WorkingSet; readonly cached: FsmState }

/** What came with a lease and need not be read again. `fork`, `log`: as reported by a claim of due work; absent: they must be read. */
export type Brought = { readonly known: CommittedLog | null; readonly fork?: Fork | null; readonly log?: EventPage }

/** A lease that came with a commit or a claim of due work, and the moment at which that asked for it. */
export type GrantedLease = Brought & { readonly epoch: number; readonly askedAt: Moment }

/** A moment by both clocks of the machine. The one that never goes back may stand still while the machine sleeps; the other does not. */
export type Moment = { readonly monotonicMs: number; readonly nowMs: number }

/** On a node that runs nothing: the commit asks for no lease. */
export function noLease(ref: ConversationRef): LeaseRequest {
  return { ref, name: null, during: (commit) => commit(), acquire: () => ({}), granted: () => null }
}

/** The worker, as seen by code that gives it work. */
export type WorkStarter = {
  readonly isClosed: boolean
  requestLease(ref: ConversationRef, name: string | null): LeaseRequest
  /** Must be called when `during` has resolved. Works on the conversation under that lease, or claims one. Does not wait for the work. */
  start(request: LeaseRequest, lease: GrantedLease | null): void
  /** For an owner that only waits for its children: it takes no place from them until the returned function is called. */
  allowOneMore(): () => void
}
