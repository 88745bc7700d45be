import type { Crash } from '../../simulator/plan.ts'
import type { Told } from '../../simulator/scenarios/scenario.ts'
import type { Target } from '../harness/target.ts'

/** What a child is started with, before it is known where it will die. */
export type ChildInput = { readonly target: Target; readonly effectsFile: string; readonly cacheFolder: string }

/** What a child is told to begin. `crash` null: it lives to the end. */
export type Begin = { readonly prefix: string; readonly crash: Crash | null }

export type ChildMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'told'; readonly told: Told }
  | { readonly type: 'problem'; readonly problem: string }
  /** Everything is told; how often each failpoint was passed. */
  | { readonly type: 'done'; readonly passings: Readonly<Record<string, number>> }
