import type { Clock } from '../../base/clock.ts'
import { HookError } from '../../base/errors/definition-errors.ts'
import { linkSignal } from '../../base/linked-signal.ts'
import type { Hook } from '../../define/create-hook.ts'
import { type Turn, turnOf } from '../../define/turn.ts'

export type RunHookOptions = { readonly hookTimeoutMs: number; readonly clock: Clock }

/**
 * What one hook returned, not yet looked at. Rejects with a `HookError` when it threw or passed its time (its signal is then aborted, and what
 * it still does is ignored), and with the reason of `turn.signal` when that is aborted.
 */
export async function runHook(hook: Hook, turn: Turn, { hookTimeoutMs, clock }: RunHookOptions): Promise<unknown> {
  turn.signal.throwIfAborted()
  const { signal, abort, unlink } = linkSignal(turn.signal)
  const callOff = clock.after(hookTimeoutMs, () => {
    abort(new HookError(hook.name, `took longer than ${hookTimeoutMs} ms`))
  })
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  try {
    return await Promise.race([run(hook, turnOf({ ...turn, signal })), stopped])
  } finally {
    callOff()
    unlink()
  }
}

async function run(hook: Hook, turn: Turn): Promise<unknown> {
  try {
    return await hook.run(turn)
  } catch (cause) {
    throw new HookError(hook.name, `threw ${describe(cause)}`, { cause })
  }
}

function describe(cause: unknown): string {
  try {
    return cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  } catch {
    return 'something that cannot be shown'
  }
}
