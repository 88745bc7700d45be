import type { Json } from '../base/json.ts'
import type { Scope } from '../define/register.ts'
import type { Snapshot } from '../log/snapshot.ts'

/** Why a snapshot is taken. */
export type Lifecycle =
  /** A turn has ended: completed, or halted by a limit or a hook. */
  | 'on_completion'
  | 'on_cancel'
  | 'on_error'
  /** Nothing can go on until somebody answers. */
  | 'on_interrupt'
  /** The one that comes after it was announced. */
  | 'on_title_generated'
  /** This process lets go of it: it was stopped, or the runtime is being closed. */
  | 'on_shutdown'

/** Which snapshot is asked for. */
export type LoadContext = {
  /** The name of the agent. */
  readonly agentId: string
  readonly conversationId: string | null
}

/** Which snapshot it is, and why it was taken. */
export type PersistContext = LoadContext & { readonly lifecycle: Lifecycle }

/**
 * Where an app keeps snapshots, beside the log and never instead of it. The scope comes first, is the app's own, and is never in the state:
 * it is for finding out whose rows these are. Null: nobody in particular.
 */
export type Persistence = {
  /** What fails, throws or takes too long is logged and changes nothing else. */
  persistState(scope: Scope | null, state: Snapshot, context: PersistContext): unknown
  /**
   * Called before the first message of a conversation whose log is empty. Returns what `persistState` was given, in this version or an older
   * one; null when there is none, or none for this scope. A throw, an error or `{ ok: false, error }` is `snapshot_load_failed`: nothing is sent.
   */
  loadState(scope: Scope | null, context: LoadContext): Json | undefined | Promise<Json | undefined>
}
