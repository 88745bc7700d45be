import { DefinitionError } from '../base/errors/definition-errors.ts'
import { readArgument, shown, unknownKeys } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { checkId } from '../store/checks.ts'
import type { PartsInput, Turn } from './turn.ts'

/** A function that an agent runs before or after a model call. */
export type Hook = SequentialPreHook | ParallelPreHook | PostHook

/** Runs before the model call, one at a time and in order. May add to the turn or end it. */
export type SequentialPreHook = HookBase & {
  readonly phase: 'pre'
  readonly mode: 'sequential'
  run(turn: Turn): Returned<Turn | Halt>
}

/** Runs before the model call, together with adjacent parallel hooks. May only add. Skipped when it throws or times out; anything but parts fails the turn. */
export type ParallelPreHook = HookBase & {
  readonly phase: 'pre'
  readonly mode: 'parallel'
  run(turn: Turn): Returned<PartsInput>
}

/** Runs on the finished message before it is committed, in order and at least once. */
export type PostHook = HookBase & {
  readonly phase: 'post'
  readonly mode: 'sequential'
  run(turn: Turn): Returned<Halt | Regenerate>
}

/** The attributes of `createHook`. */
export type HookAttributes =
  | (Pick<SequentialPreHook, 'name' | 'phase' | 'run'> & Partial<SequentialPreHook>)
  | (Pick<ParallelPreHook, 'name' | 'phase' | 'mode' | 'run'> & Partial<ParallelPreHook>)
  | (Pick<PostHook, 'name' | 'phase' | 'run'> & Partial<PostHook>)

type HookBase = {
  readonly name: string
  /** Its injection is recorded in the log, so it does not run again for the same step of a turn. */
  readonly durable: boolean
  /** `turn`: a durable hook runs once a turn, and its injection stays for the turn's later steps. Null: before each step. */
  readonly once: 'turn' | null
  /** Limits one run. Null: the agent's `hookTimeoutMs`. */
  readonly timeoutMs: number | null
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that returns nothing is a hook that has nothing to say
type Returned<T> = T | undefined | null | void | Promise<T | undefined | null | void>

/**
 * Creates a hook; `preHook` and `postHook` are shorter. Throws `DefinitionError` with everything that is wrong.
 * Defaults: sequential, not durable.
 */
export function createHook(attributes: HookAttributes): Hook {
  const problems = unknownKeys(attributes, ['name', 'phase', 'mode', 'durable', 'once', 'timeoutMs', 'run'])
  const { name, phase, mode = 'sequential', durable = false, run } = Object(attributes) as Partial<Hook>
  const { once = null, timeoutMs = null } = Object(attributes) as Partial<Hook>
  if (!isId(name)) problems.push("'name' must be a string of 1 to 255 bytes without control characters")
  if (phase !== 'pre' && phase !== 'post') problems.push(`'phase' must be 'pre' or 'post', not ${shown(phase)}`)
  if (mode !== 'sequential' && mode !== 'parallel') {
    problems.push(`'mode' must be 'sequential' or 'parallel', not ${shown(mode)}`)
  }
  if (typeof durable !== 'boolean') problems.push(`'durable' must be true or false, not ${shown(durable)}`)
  if (once !== null && once !== 'turn') problems.push(`'once' must be 'turn', not ${shown(once)}`)
  else if (once === 'turn' && durable !== true) {
    problems.push("'once' needs durable: true, because the log says whether the hook has run")
  }
  if (timeoutMs !== null && (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1)) {
    problems.push(`'timeoutMs' must be a whole number of at least 1, not ${shown(timeoutMs)}`)
  }
  if (typeof run !== 'function') problems.push(`'run' must be a function of the turn, not ${typeof run}`)
  else if (run.length > 1) problems.push(`'run' takes the turn and nothing else, not ${run.length} arguments`)
  if (phase === 'post' && mode === 'parallel') problems.push('a post-hook cannot be parallel: the first verdict wins')
  if (phase === 'post' && durable === true) problems.push('a post-hook cannot be durable: it adds nothing to keep')
  if (problems.length > 0) throw new DefinitionError(`The hook '${String(name)}'`, problems)
  return Object.freeze({ name, phase, mode, durable, once, timeoutMs, run } as Hook)
}

/** Options of `preHook`. */
export type PreHookOptions = {
  /** Records what the hook injects in the log. Default: false. */
  readonly durable?: boolean
  /** With `durable`: once a turn instead of before each model call. */
  readonly once?: 'turn'
  /** Default: the agent's `hookTimeoutMs`. */
  readonly timeoutMs?: number
}

/**
 * A hook that runs before each model call. Default: sequential and not durable. A durable hook runs once per step, also
 * after a crash.
 */
export function preHook(
  name: string,
  run: SequentialPreHook['run'],
  options?: PreHookOptions & { readonly mode?: 'sequential' },
): SequentialPreHook
export function preHook(
  name: string,
  run: ParallelPreHook['run'],
  options: PreHookOptions & { readonly mode: 'parallel' },
): ParallelPreHook
export function preHook(
  name: string,
  run: SequentialPreHook['run'] | ParallelPreHook['run'],
  options: PreHookOptions & { readonly mode?: 'sequential' | 'parallel' } = {},
): Hook {
  return createHook({
    ...checkedOptions(name, options, ['mode', 'durable', 'once', 'timeoutMs']),
    name,
    phase: 'pre',
    run,
  } as HookAttributes)
}

/** A hook that sees the finished message. It may have the message regenerated, or end the turn. */
export function postHook(
  name: string,
  run: PostHook['run'],
  options: { readonly mode?: 'sequential'; readonly timeoutMs?: number } = {},
): PostHook {
  return createHook({
    ...checkedOptions(name, options, ['mode', 'timeoutMs', 'durable']),
    name,
    phase: 'post',
    run,
  }) as PostHook
}

/** The log identifies a durable hook by its name. */
function isId(name: unknown): boolean {
  try {
    checkId('name', name)
    return true
  } catch {
    return false
  }
}

function checkedOptions(name: string, options: object, known: readonly string[]): object {
  const problems = unknownKeys(options, known)
  if (problems.length > 0) throw new DefinitionError(`The hook '${String(name)}'`, problems)
  return options
}

/** Ends the turn as `halted`. */
export type Halt = {
  readonly type: 'halt'
  readonly reason: string
  readonly show?: boolean
  readonly result?: never
}

/** Returned by a server tool: ends the turn as `halted`, with this result of the call. */
export type ToolHalt<Result = unknown> = {
  readonly type: 'halt'
  readonly reason: string
  readonly result: Result
}

/** Options of `halt` in a post-hook. */
export type HaltOptions = {
  /** Shows the message that the post-hook judged. Default: false, the message is withheld. */
  readonly show?: boolean
}

/** Options of `halt` in a server tool. */
export type ToolHaltOptions<Result = unknown> = {
  /** The result of the call. Default: null. */
  readonly result: Result
}

/** Calls the model again, with feedback. */
export type Regenerate = { readonly type: 'regenerate'; readonly feedback: string }

/**
 * Ends the turn as `halted` with this reason. Returned by a post-hook, it also withholds the message unless `show` is
 * true. Returned by a server tool, it ends the turn once the calls beside it have ended, and `result` is the result of
 * the call.
 */
export function halt<Result>(reason: string, options: ToolHaltOptions<Result>): ToolHalt<Result>
export function halt(reason: string, options?: HaltOptions): Halt
export function halt(reason: string, options: HaltOptions | ToolHaltOptions = {}): Halt | ToolHalt {
  checkReason(reason)
  return readArgument('options', () => haltOf(reason, options))
}

function haltOf(reason: string, options: HaltOptions | ToolHaltOptions): Halt | ToolHalt {
  const [problem] = unknownKeys(options, ['show', 'result'])
  if (problem !== undefined) throw new InvalidArgumentError('options', problem)
  if ('result' in options && 'show' in options) {
    throw new InvalidArgumentError('options', "has 'show', which is for post-hooks, and 'result', which is for tools")
  }
  if ('result' in options) return branded({ type: 'halt', reason, result: options.result })
  const { show = false } = options as HaltOptions
  if (typeof show !== 'boolean') throw new InvalidArgumentError('show', 'must be true or false')
  return branded({ type: 'halt', reason, ...(show ? { show } : {}) })
}

/** The reason is in two events of a log, and in every list of turns. */
const maxReasonBytes = 4_096

function checkReason(reason: unknown): void {
  if (typeof reason !== 'string') throw new InvalidArgumentError('reason', 'must be a string')
  const bytes = Buffer.byteLength(reason)
  if (bytes > maxReasonBytes) {
    throw new InvalidArgumentError('reason', `has ${bytes} bytes; at most ${maxReasonBytes} are allowed`)
  }
}

const haltBrand = Symbol.for('perdure.halt')

/** A tool may return any data as its result, also data that looks like a halt. */
function branded<H extends Halt | ToolHalt>(verdict: H): H {
  return Object.freeze(Object.defineProperty(verdict, haltBrand, { value: true }))
}

/** Whether a tool returned what `halt` made. */
export function isToolHalt(value: unknown): value is Halt | ToolHalt {
  return typeof value === 'object' && value !== null && haltBrand in value
}

/** Returned by a post-hook: regenerates the message, at most `maxRegenerations` times. */
export function regenerate(feedback: string): Regenerate {
  if (typeof feedback !== 'string') throw new InvalidArgumentError('feedback', 'must be a string')
  return Object.freeze({ type: 'regenerate', feedback })
}

export function isHalt(value: unknown): value is Halt {
  const { type, reason } = Object(value) as Partial<Halt>
  return type === 'halt' && typeof reason === 'string'
}

export function isRegenerate(value: unknown): value is Regenerate {
  const { type, feedback } = Object(value) as Partial<Regenerate>
  return type === 'regenerate' && typeof feedback === 'string'
}
