import type { Clock } from '../base/clock.ts'
import { SnapshotLoadError } from '../base/errors/runtime-errors.ts'
import type { Json } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { withTimeout } from '../base/with-timeout.ts'
import type { Scope, ScopeSource } from '../define/register.ts'
import { readSnapshot } from '../log/read-snapshot.ts'
import { type ConversationState, findTurn, openTurn, type TurnState } from '../log/state.ts'
import type { WorkingSet } from '../store/working-sets.ts'
import type { Lifecycle, LoadContext, Persistence } from './persistence.ts'
import { seedFrom } from './seed-from.ts'
import { takeSnapshot } from './take-snapshot.ts'

type Parts = { readonly clock: Clock; readonly logger: Logger; readonly timeoutMs: number }

/** What a snapshot is taken of, and for whom. */
export type Subject = {
  readonly agentId: string
  readonly conversationId: string
  readonly workingSet: Pick<WorkingSet, 'state' | 'origin'>
  readonly scopes: ScopeSource
  /** Whose turn it is about. Default: the one that is open, or was last. */
  readonly turnId?: string
}

/** Hands snapshots to the app and takes them back. The app's code is waited for, but not for ever, and it decides nothing. */
export class Snapshots {
  readonly #persistence: Persistence
  readonly #parts: Parts

  constructor(persistence: Persistence, parts: Parts) {
    this.#persistence = persistence
    this.#parts = parts
  }

  /** Does not reject, and does not take longer than the time it was given. */
  async persist(lifecycle: Lifecycle, subject: Subject): Promise<void> {
    const { agentId, conversationId, workingSet } = subject
    // Deleted meanwhile: it must not come back as a snapshot.
    if (workingSet.state.lastSeq === 0) return
    try {
      const failure = await this.#within(this.#persisted(lifecycle, subject))
      if (failure !== null) throw failure
    } catch (error) {
      this.#parts.logger.warn('a snapshot was not persisted', { agentId, conversationId, lifecycle, error })
    }
  }

  /** What the log of a conversation is to begin with; null when it begins empty. Rejects when the app does not say. */
  async load(scope: Scope | null, context: LoadContext): Promise<Json> {
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
    if (read.ok) return seedFrom(read.snapshot)
    this.#parts.logger.warn('a snapshot cannot be used; the conversation begins without it', {
      ...context,
      problem: read.problem,
    })
    return null
  }

  async #persisted(lifecycle: Lifecycle, subject: Subject): Promise<unknown> {
    const { agentId, conversationId, workingSet, scopes, turnId } = subject
    const context = { agentId, conversationId, lifecycle }
    const turn = actingTurn(workingSet.state, turnId)
    const scope = turn ? await scopes.ofTurn(turn) : await scopes.ofNobody()
    return failureIn(await this.#persistence.persistState(scope, takeSnapshot(workingSet), context), 'persistState')
  }

  #within<T>(work: Promise<T>): Promise<T> {
    const { clock, timeoutMs } = this.#parts
    return withTimeout(work, timeoutMs, clock, () => {
      throw new Error(`it took longer than ${timeoutMs} ms`)
    })
  }
}

/** An error that the app returned instead of throwing it, as such or as `{ ok: false, error }`. */
function failureIn(result: unknown, verb: string): unknown {
  if (result instanceof Error) return result
  const { ok, error } = Object(result) as { ok?: unknown; error?: unknown }
  return ok === false ? (error ?? new Error(`${verb} said that it failed`)) : null
}

function actingTurn(state: ConversationState, turnId: string | undefined): TurnState | null {
  if (turnId !== undefined) return findTurn(state, turnId)
  return openTurn(state) ?? state.turns.findLast((turn) => turn.opened) ?? null
}
