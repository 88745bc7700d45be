import { type Clock, withTimeout } from '../base/clock.ts'
import { SnapshotDeleteError, SnapshotLoadError } from '../base/errors/runtime-errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Scope, ScopeSource } from '../define/scope.ts'
import { fittingSnapshot, readSnapshot } from '../log/read-snapshot.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { type ConversationState, findTurn, openTurn, type TurnState } from '../log/state.ts'
import type { TenantStore } from '../store/store.ts'
import type { WorkingSet } from '../store/working-sets.ts'
import { ownerOf } from './owner-of.ts'
import type { Lifecycle, LoadContext, Persistence } from './persistence.ts'
import { withFileBytes } from './snapshot-files.ts'
import { takeSnapshot } from './take-snapshot.ts'

type Parts = { readonly clock: Clock; readonly logger: Logger; readonly timeoutMs: number }

/** The conversation and turn that a snapshot is taken of. */
export type Subject = {
  readonly agentId: string
  readonly conversationId: string
  readonly workingSet: Pick<WorkingSet, 'state' | 'origin'>
  readonly scopes: ScopeSource
  readonly store: Pick<TenantStore, 'getBlob' | 'standing' | 'streamEvents'>
  /** The turn it is about. Default: the open turn, else the last one. */
  readonly turnId?: string
}

/** Passes snapshots to the application and loads them again. The application's code gets a time limit, and its result changes no decision of the turn. */
export class Snapshots {
  readonly #persistence: Persistence
  readonly #parts: Parts

  constructor(persistence: Persistence, parts: Parts) {
    this.#persistence = persistence
    this.#parts = parts
  }

  /** The same where the application has no snapshot of anything. */
  get empty(): Snapshots {
    return new Snapshots({ persistState: async () => null, loadState: async () => null }, this.#parts)
  }

  /** Never rejects, and never takes longer than its timeout. */
  async persist(lifecycle: Lifecycle, subject: Subject): Promise<void> {
    const { agentId, conversationId, workingSet } = subject
    // Deleted by now: a snapshot must not bring it back.
    if (workingSet.state.lastSeq === 0) return
    try {
      const failure = await this.#within(this.#persisted(lifecycle, subject))
      if (failure !== null) throw failure
    } catch (error) {
      this.#parts.logger.warn('a snapshot was not persisted', { agentId, conversationId, lifecycle, error })
    }
  }

  /** What the log of a new conversation begins with; null when it starts empty. Rejects when the application does not answer. */
  async load(scope: Scope | null, context: LoadContext): Promise<Snapshot | null> {
    let loaded: unknown
    try {
      loaded = await this.#within(Promise.resolve(this.#persistence.loadState(scope, context)))
      const failure = failureIn(loaded, 'loadState')
      if (failure !== null) throw failure
    } catch (error) {
      throw new SnapshotLoadError(context.conversationId ?? context.agentId, error)
    }
    if (loaded === null || loaded === undefined) return null
    const read = readSnapshot(loaded)
    if (read.ok) return fittingSnapshot(read.snapshot)
    const { agentId, conversationId } = context
    this.#parts.logger.warn('a snapshot cannot be used; the conversation begins without it', {
      agentId,
      conversationId,
      problem: read.problem,
    })
    return null
  }

  async #persisted(lifecycle: Lifecycle, subject: Subject): Promise<unknown> {
    const { agentId, conversationId, workingSet, scopes, store, turnId } = subject
    const turn = actingTurn(workingSet.state, turnId)
    const scope = turn ? await scopes.ofTurn(turn) : await scopes.ofSystem()
    const owner = await ownerOf(store, conversationId)
    const snapshot = { ...(await withFileBytes(takeSnapshot(workingSet), store)), owner }
    const context = { agentId, conversationId, owner, lifecycle }
    return failureIn(await this.#persistence.persistState(scope, snapshot, context), 'persistState')
  }

  /** Whether the application handles deletions. */
  get canDelete(): boolean {
    return this.#persistence.deleteState !== undefined
  }

  /** Has the application delete its copy. Rejects when it does not, so that nothing is deleted before its copies are. */
  async delete(scope: Scope | null, context: LoadContext): Promise<void> {
    try {
      const deleted = await this.#within(Promise.resolve(this.#persistence.deleteState?.(scope, context)))
      const failure = failureIn(deleted, 'deleteState')
      if (failure !== null) throw failure
    } catch (error) {
      throw new SnapshotDeleteError(context.conversationId ?? context.agentId, error)
    }
  }

  #within<T>(work: Promise<T>): Promise<T> {
    const { clock, timeoutMs } = this.#parts
    return withTimeout(work, timeoutMs, clock, () => {
      throw new Error(`it took longer than ${timeoutMs} ms`)
    })
  }
}

/** An error that the application returned instead of throwing it, as an `Error` or as `{ ok: false, error }`. */
function failureIn(result: unknown, verb: string): unknown {
  if (result instanceof Error) return result
  const { ok, error } = Object(result) as { ok?: unknown; error?: unknown }
  return ok === false ? (error ?? new Error(`${verb} reported a failure`)) : null
}

function actingTurn(state: ConversationState, turnId: string | undefined): TurnState | null {
  if (turnId !== undefined) return findTurn(state, turnId)
  return openTurn(state) ?? state.turns.findLast((turn) => turn.opened) ?? null
}
