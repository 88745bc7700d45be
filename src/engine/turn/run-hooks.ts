import { linkSignal, onAbort } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { HookError, InjectionOverflowError } from '../../base/errors/definition-errors.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { type Halt, type Hook, isHalt, isRegenerate } from '../../define/create-hook.ts'
import type { Shape } from '../../define/shape.ts'
import { changedMember, inject, isTurn, type Turn, toUserParts, turnOf } from '../../define/turn.ts'
import type { UserPart } from '../../log/events.ts'
import type { ShapedBy } from '../../prompt/explain.ts'

type RunHookOptions = { readonly hookTimeoutMs: number; readonly clock: Clock }

/** The turn that a hook was given, and what it returned, not yet looked at. */
type Ran = { readonly given: Turn; readonly returned: unknown }

/** Rejects with a `HookError` when the hook threw or passed its time, and with the reason of `turn.signal` when that is aborted. */
async function runHook(hook: Hook, turn: Turn, { hookTimeoutMs, clock }: RunHookOptions): Promise<Ran> {
  const timeoutMs = hook.timeoutMs ?? hookTimeoutMs
  const tooLate = new HookError(hook.name, `took longer than ${timeoutMs} ms`)
  return await runWithin({ timeoutMs, clock, tooLate }, turn, async (given) => ({
    given,
    returned: await run(hook, given),
  }))
}

type Within = { readonly timeoutMs: number; readonly clock: Clock; readonly tooLate: Error }

/** Runs the application's code with a turn for so long. Then the turn's signal is aborted, and what the code still does is ignored. */
export async function runWithin<T>(within: Within, turn: Turn, run: (given: Turn) => Promise<T>): Promise<T> {
  turn.signal.throwIfAborted()
  const { signal, abort, unlink } = linkSignal(turn.signal)
  const callOff = within.clock.after(within.timeoutMs, () => abort(within.tooLate))
  const stopped = new Promise<never>((_, reject) => {
    onAbort(signal, () => reject(signal.reason))
  })
  try {
    return await Promise.race([run(turnOf({ ...turn, signal })), stopped])
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

export function describe(cause: unknown): string {
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
  /** What durable hooks added at earlier steps of this turn: their names, and how many tokens it has. */
  readonly earlier: { readonly hooks: ReadonlySet<string>; readonly tokens: number }
  /** What is wrong with the shape that a hook gave the model call; null when nothing is. */
  readonly shapeProblem: (shape: Shape) => string | null
  /** Must commit the parts of a durable hook, also when there are none, before it resolves. */
  readonly onDurable: (hook: string, parts: readonly UserPart[]) => Promise<void>
  readonly logger: Logger
}

type PreHookOutcome =
  | {
      readonly type: 'go'
      readonly turn: Turn
      readonly injections: readonly HookInjection[]
      readonly shaped: readonly ShapedBy[]
    }
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
  const shaped: ShapedBy[] = []
  let current = turn
  let tokens = options.earlier.tokens
  for (const group of groupsOf(hooks)) {
    const results = await Promise.all(group.map((hook) => resultOf(hook, current, options)))
    for (const [index, { parts, isLogged, shape }] of results.entries()) {
      const { name, durable } = group[index]!
      if (isHalt(parts)) return { type: 'halt', reason: parts.reason, hook: name }
      if (parts === null) continue
      if (shape) {
        shaped.push(shapedBy(name, current.shape, shape))
        current = withShape(current, shape)
      }
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
  return { type: 'go', turn: current, injections, shaped }
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

function withShape(turn: Turn, shape: Shape): Turn {
  const { messages } = shape
  const isNew = messages !== undefined && messages !== turn.shape?.messages
  return turnOf({ ...turn, shape, ...(isNew ? { context: messages } : {}) })
}

function shapedBy(hook: string, before: Shape | null, { messages, tools, settings }: Shape): ShapedBy {
  return {
    hook,
    ...(messages === undefined || messages === before?.messages ? {} : { messages: messages.length }),
    ...(tools === undefined || tools === before?.tools ? {} : { tools }),
    ...(settings === undefined || settings === before?.settings ? {} : { settings: plain(settings) }),
  }
}

/** Without the settings that a hook took away. */
function plain(settings: object): JsonObject {
  return JSON.parse(JSON.stringify(settings)) as JsonObject
}

/** `parts` is null for a hook that was skipped, or that has had its turn. */
type HookResult = {
  readonly parts: readonly UserPart[] | Halt | null
  readonly isLogged: boolean
  readonly shape?: Shape | null
}

async function resultOf(hook: Hook, turn: Turn, options: PreHookOptions): Promise<HookResult> {
  const logged = hook.durable ? options.durableInjections.get(hook.name) : undefined
  if (logged) return { parts: logged, isLogged: true }
  if (hook.once === 'turn' && options.earlier.hooks.has(hook.name)) return { parts: null, isLogged: true }
  if (hook.mode === 'sequential') {
    const { given, returned } = await runHook(hook, turn, options)
    return { ...read(hook, () => changesOf(hook, given, returned, options)), isLogged: false }
  }
  const ran = await runHook(hook, turn, options).catch((error: unknown) => {
    if (turn.signal.aborted) throw error
    options.logger.warn(`the parallel hook '${hook.name}' failed and was skipped`, { hook: hook.name, error })
    return null
  })
  // Only a failure is skipped: a halt that is not heard would let the model be called.
  return { parts: ran && read(hook, () => partsOf(hook, ran.returned)), isLogged: false }
}

/** What a hook returned may be a proxy, or have getters: code that may throw. */
function read<T>(hook: Hook, reading: () => T): T {
  try {
    return reading()
  } catch (cause) {
    if (PerdureError.isInstance(cause)) throw cause
    throw new HookError(hook.name, 'returned something that cannot be read', { cause })
  }
}

/** What a sequential hook injected and shaped. Anything else that it changed is refused. */
function changesOf(hook: Hook, given: Turn, returned: unknown, options: PreHookOptions): Omit<HookResult, 'isLogged'> {
  if (returned === undefined || returned === null) return { parts: [] }
  if (isHalt(returned)) {
    if (!('show' in returned)) return { parts: hookHalt(hook, returned) }
    throw new HookError(
      hook.name,
      'returned halt(reason, { show }), but no message is there to show; return halt(reason)',
    )
  }
  if (!isTurn(returned)) {
    throw new HookError(
      hook.name,
      'must return the turn, inject(turn, parts), shape(turn, changes), halt(reason), or nothing',
    )
  }
  const kept = returned.injections.slice(0, given.injections.length)
  if (given.injections.some((part, index) => part !== kept[index])) {
    throw new HookError(
      hook.name,
      'returned a turn without the injections of earlier hooks; return inject(turn, parts)',
    )
  }
  refuseChanges(hook, given, returned)
  const shape = returned.shape === given.shape ? null : returned.shape
  if (shape && hook.durable) {
    throw new HookError(hook.name, 'is durable and shaped the call, but the log has only what a durable hook injects')
  }
  const problem = shape && options.shapeProblem(shape)
  if (problem) throw new HookError(hook.name, problem)
  return { parts: toParts(hook, returned.injections.slice(given.injections.length)), shape }
}

function refuseChanges(hook: Hook, given: Turn, returned: Turn): void {
  const member = changedMember(given, returned)
  if (member === null) return
  throw new HookError(hook.name, `changed '${member}' of the turn, but a hook may only inject and shape`)
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
    const isForSequential = hook.mode === 'parallel' && (isTurn(value) || isHalt(value))
    const problem = isForSequential
      ? `runs in parallel and returned ${isHalt(value) ? 'halt(reason)' : 'a turn'}; return the parts, or make the hook sequential`
      : 'returned something that is not text or parts of a message'
    throw new HookError(hook.name, problem, { cause })
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
    const { given, returned } = await runHook(hook, turn, options)
    const verdict = read(hook, () => verdictOf(hook, given, returned))
    if (verdict) return verdict
  }
  return { type: 'keep' }
}

/** Null: the hook keeps the message. */
function verdictOf(hook: Hook, given: Turn, returned: unknown): Exclude<PostHookOutcome, { type: 'keep' }> | null {
  if (isHalt(returned)) {
    const { reason, show } = hookHalt(hook, returned)
    return { type: 'halt', reason, isShown: show === true, hook: hook.name }
  }
  if (isRegenerate(returned)) return { type: 'regenerate', feedback: returned.feedback, hook: hook.name }
  if (returned === undefined || returned === null) return null
  if (!isTurn(returned)) throw new HookError(hook.name, 'must return nothing, halt(reason) or regenerate(feedback)')
  refuseChanges(hook, given, returned)
  if (returned.injections === given.injections && returned.shape === given.shape) return null
  throw new HookError(hook.name, 'injected into or shaped a call that is over; that is for pre-hooks')
}
