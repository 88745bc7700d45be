import { linkSignal, onAbort } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { HookError, InjectionOverflowError } from '../../base/errors/definition-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { type Halt, type Hook, isHalt, isRegenerate } from '../../define/create-hook.ts'
import { inject, isTurn, type Turn, toUserParts, turnOf } from '../../define/turn.ts'
import type { UserPart } from '../../log/events.ts'

type RunHookOptions = { readonly hookTimeoutMs: number; readonly clock: Clock }

/**
 * What one hook returned, not yet looked at. Rejects with a `HookError` when it threw or passed its time (its signal is then aborted, and what
 * it still does is ignored), and with the reason of `turn.signal` when that is aborted.
 */
async function runHook(hook: Hook, turn: Turn, { hookTimeoutMs, clock }: RunHookOptions): Promise<unknown> {
  turn.signal.throwIfAborted()
  const { signal, abort, unlink } = linkSignal(turn.signal)
  const callOff = clock.after(hookTimeoutMs, () => {
    abort(new HookError(hook.name, `took longer than ${hookTimeoutMs} ms`))
  })
  const stopped = new Promise<never>((_, reject) => {
    onAbort(signal, () => reject(signal.reason))
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

export type PreHookOptions = RunHookOptions & {
  readonly injectionReserve: number
  readonly countTokens: (parts: readonly UserPart[]) => number
  /** What the log holds for this turn and step, by hook name: such a hook is not run again. */
  readonly durableInjections: ReadonlyMap<string, readonly UserPart[]>
  /** Must commit the parts of a durable hook, also when there are none, before it resolves. */
  readonly onDurable: (hook: string, parts: readonly UserPart[]) => Promise<void>
  readonly logger: Logger
}

type PreHookOutcome =
  | { readonly type: 'go'; readonly turn: Turn; readonly injections: readonly HookInjection[] }
  | { readonly type: 'halt'; readonly reason: string; readonly hook: string }

/** What one hook added; nothing is listed for hooks that added nothing. The parts of durable hooks are in the log too. */
type HookInjection = { readonly hook: string; readonly parts: readonly UserPart[]; readonly durable: boolean }

/**
 * Runs the pre-hooks among `hooks` before one model call. Rejects with `HookError` when a sequential hook fails, with `InjectionOverflowError`
 * when they add too much, and with the reason of `turn.signal` when that is aborted.
 */
export async function runPreHooks(
  hooks: readonly Hook[],
  turn: Turn,
  options: PreHookOptions,
): Promise<PreHookOutcome> {
  const injections: HookInjection[] = []
  let current = turn
  let tokens = 0
  for (const group of groupsOf(hooks)) {
    const results = await Promise.all(group.map((hook) => resultOf(hook, current, options)))
    for (const [index, { parts, isLogged }] of results.entries()) {
      const { name, durable } = group[index]!
      if (isHalt(parts)) return { type: 'halt', reason: parts.reason, hook: name }
      if (parts === null) continue
      tokens += parts.length > 0 ? options.countTokens(parts) : 0
      if (!isLogged && parts.length > 0 && tokens > options.injectionReserve) {
        throw new InjectionOverflowError(name, tokens, options.injectionReserve)
      }
      if (durable && !isLogged) await options.onDurable(name, parts)
      if (parts.length === 0) continue
      current = inject(current, parts)
      injections.push({ hook: name, parts, durable })
    }
  }
  return { type: 'go', turn: current, injections }
}

/** Sequential hooks one by one; parallel neighbours together. */
function groupsOf(hooks: readonly Hook[]): Hook[][] {
  const groups: Hook[][] = []
  for (const hook of hooks) {
    if (hook.phase !== 'pre') continue
    const last = groups.at(-1)
    if (hook.mode === 'parallel' && last?.[0]?.mode === 'parallel') last.push(hook)
    else groups.push([hook])
  }
  return groups
}

/** `parts` is null for a hook that was skipped. */
type HookResult = { readonly parts: readonly UserPart[] | Halt | null; readonly isLogged: boolean }

async function resultOf(hook: Hook, turn: Turn, options: PreHookOptions): Promise<HookResult> {
  const logged = hook.durable ? options.durableInjections.get(hook.name) : undefined
  if (logged) return { parts: logged, isLogged: true }
  if (hook.mode === 'sequential') {
    return { parts: addedBy(hook, turn, await runHook(hook, turn, options)), isLogged: false }
  }
  try {
    return { parts: partsOf(hook, await runHook(hook, turn, options)), isLogged: false }
  } catch (error) {
    if (turn.signal.aborted) throw error
    options.logger.warn(`the parallel hook '${hook.name}' failed and was skipped`, { hook: hook.name, error })
    return { parts: null, isLogged: false }
  }
}

/** Only what was injected is taken from a returned turn: a hook cannot change who acts. */
function addedBy(hook: Hook, before: Turn, returned: unknown): readonly UserPart[] | Halt {
  if (returned === undefined || returned === null) return []
  if (isHalt(returned)) return hookHalt(hook, returned)
  if (!isTurn(returned)) {
    throw new HookError(hook.name, 'must return the turn, inject(turn, parts), halt(reason), or nothing')
  }
  const kept = returned.injections.slice(0, before.injections.length)
  if (before.injections.some((part, index) => part !== kept[index])) {
    throw new HookError(
      hook.name,
      'returned a turn without the injections of earlier hooks; return inject(turn, parts)',
    )
  }
  return toParts(hook, returned.injections.slice(before.injections.length))
}

function hookHalt(hook: Hook, verdict: Halt): Halt {
  if (!('result' in verdict)) return verdict
  throw new HookError(hook.name, "returned halt(reason, { result }), but 'result' is for tools; return halt(reason)")
}

function partsOf(hook: Hook, returned: unknown): readonly UserPart[] {
  return returned === undefined || returned === null ? [] : toParts(hook, returned)
}

function toParts(hook: Hook, value: unknown): readonly UserPart[] {
  try {
    return toUserParts(value)
  } catch (cause) {
    throw new HookError(hook.name, 'returned something that is not text or parts of a message', { cause })
  }
}

type PostHookOutcome =
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
      const { reason, show } = hookHalt(hook, verdict)
      return { type: 'halt', reason, isShown: show === true, hook: hook.name }
    }
    if (isRegenerate(verdict)) return { type: 'regenerate', feedback: verdict.feedback, hook: hook.name }
    if (verdict !== undefined && verdict !== null && !isTurn(verdict)) {
      throw new HookError(hook.name, 'must return nothing, halt(reason) or regenerate(feedback)')
    }
  }
  return { type: 'keep' }
}
