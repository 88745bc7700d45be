import { HookError } from '../../base/errors/definition-errors.ts'
import type { Hook } from '../../define/create-hook.ts'
import { isTurn, type Turn } from '../../define/turn.ts'
import { isHalt, isRegenerate } from '../../define/verdict.ts'
import { type RunHookOptions, runHook } from './run-hook.ts'

export type PostHookOutcome =
  | { readonly type: 'keep' }
  | { readonly type: 'halt'; readonly reason: string; readonly isShown: boolean; readonly hook: string }
  | { readonly type: 'regenerate'; readonly feedback: string; readonly hook: string }

/**
 * Runs the post-hooks among `hooks` on a turn with its finished message, in order; the first verdict wins.
 * Rejects with `HookError` when one fails, and with the reason of `turn.signal` when that is aborted.
 */
export async function runPostHooks(
  hooks: readonly Hook[],
  turn: Turn,
  options: RunHookOptions,
): Promise<PostHookOutcome> {
  for (const hook of hooks) {
    if (hook.phase !== 'post') continue
    const verdict = await runHook(hook, turn, options)
    if (isHalt(verdict)) {
      return { type: 'halt', reason: verdict.reason, isShown: verdict.show === true, hook: hook.name }
    }
    if (isRegenerate(verdict)) return { type: 'regenerate', feedback: verdict.feedback, hook: hook.name }
    if (verdict !== undefined && verdict !== null && !isTurn(verdict)) {
      throw new HookError(hook.name, 'must return nothing, halt(reason) or regenerate(feedback)')
    }
  }
  return { type: 'keep' }
}
