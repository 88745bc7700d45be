import type { Target } from '../harness/target.ts'

export const subscriberName = 'receiver'

/** What a process that delivers is given. */
export type WorkerOrder = {
  readonly target: Target
  readonly seed: number
  /** Null: lives until it is no longer needed. */
  readonly kill: { readonly failpoint: string; readonly passing: number } | null
}

export type WorkerMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'told'; readonly id: string; readonly seq: number; readonly event: string; readonly ok: boolean }
