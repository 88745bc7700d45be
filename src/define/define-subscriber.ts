import { DefinitionError } from '../base/errors/definition-errors.ts'
import { shown, unknownKeys } from '../base/errors/read-options.ts'
import type { Json } from '../base/json.ts'
import type { DoneBefore, EventOf, EventType, LogEvent, SuspensionKind } from '../log/events.ts'
import { isKnownType } from '../log/validate-event.ts'
import { isId } from '../store/checks.ts'

/** What a subscriber can receive: `waiting`, when a call or a session begins to wait for an answer, and every other type of event. */
export type SubscriberTopic = 'waiting' | Exclude<EventType, 'suspension'>

/** A committed event as a subscriber receives it. Deeply frozen. */
export type SubscriberEvent = {
  /** The same each time it is tried, and of no other event: a receiver can tell by it what it has had. */
  readonly id: string
  readonly topic: SubscriberTopic
  readonly tenant: string
  readonly conversationId: string
  readonly seq: number
  readonly at: number
  readonly agent: string | null
  readonly title: string | null
  /** As committed. A message that no hook has passed has no parts. */
  readonly event: LogEvent
  /** Only with the topic `waiting`. */
  readonly call?: WaitingCall
}

/** What waits for an answer. */
export type WaitingCall = {
  readonly callId: string
  readonly round: number
  readonly kind: Exclude<SuspensionKind, 'sub_agent'> | 'flow'
  readonly tool: string
  /** Of a question of a session: its tag. */
  readonly args: Json
  readonly prompt: Json
  /** What will happen, in one line, where the tool says it: see `describe` of tools. */
  readonly description?: string
  /** Set when a variant that the turn replaces ran the same tool with the same arguments: that call, and how it ended. */
  readonly doneBefore?: DoneBefore
  readonly expiresAt: number | null
  /** False if it was answered or ended before the delivery. */
  readonly isOpen: boolean
}

/** `signal` is aborted when the time is over, or the runtime closes. `attempt` counts from 1. */
export type SubscriberContext = { readonly signal: AbortSignal; readonly attempt: number }

/** How often a delivery is tried, and the pauses between, which double from `baseMs` to `maxMs`. */
export type SubscriberRetry = { readonly maxAttempts: number; readonly baseMs: number; readonly maxMs: number }

/** What `defineSubscriber` returns. Frozen. */
export type Subscriber = {
  readonly name: string
  readonly on: readonly SubscriberTopic[]
  /** Only conversations of this agent; null: all. */
  readonly agent: string | null
  readonly retry: SubscriberRetry
  readonly timeoutMs: number
  run(event: SubscriberEvent, context: SubscriberContext): unknown
}

/** The attributes of `defineSubscriber`. */
export type SubscriberAttributes = Pick<Subscriber, 'name' | 'on' | 'run'> &
  SubscriberOptions & { readonly agent?: string }

/** Options of every subscriber. */
export type SubscriberOptions = {
  /** Default: 10 attempts, from 1,000 ms to 3,600,000 ms apart. */
  readonly retry?: Partial<SubscriberRetry>
  /** Limits one run. Default: 30,000. */
  readonly timeoutMs?: number
}

const defaultRetry: SubscriberRetry = { maxAttempts: 10, baseMs: 1_000, maxMs: 3_600_000 }

/**
 * Defines a subscriber: a function that receives what was committed, at least once for each event, and in order for each conversation. If it throws, it is
 * called again later; after the last attempt the delivery is listed as failed, and the next one follows. The store knows a subscriber by its name. Throws
 * `DefinitionError` with everything that is wrong.
 */
export function defineSubscriber(attributes: SubscriberAttributes): Subscriber {
  const problems = unknownKeys(attributes, ['name', 'on', 'agent', 'retry', 'timeoutMs', 'run'])
  const { name, on, agent = null, run } = Object(attributes) as Partial<Subscriber>
  const { retry = {}, timeoutMs = 30_000 } = Object(attributes) as SubscriberOptions
  if (!isId(name)) problems.push("'name' must be a string of 1 to 255 bytes without control characters")
  if (agent !== null && !isId(agent)) problems.push("'agent' must be the name of an agent")
  if (!Array.isArray(on) || on.length === 0)
    problems.push("'on' must be a list of topics, as in ['waiting', 'turn_ended']")
  else
    for (const topic of on)
      if (!isTopic(topic)) problems.push(`'on' has ${shown(topic)}, which is no topic; use waiting or a type of event`)
  if (typeof run !== 'function') problems.push(`'run' must be a function of the event, not ${typeof run}`)
  problems.push(...optionProblems({ retry, timeoutMs }))
  if (problems.length > 0) throw new DefinitionError(`The subscriber '${shown(name)}'`, problems)
  const subscriber = {
    name: name!,
    on: Object.freeze([...new Set(on)]),
    agent,
    timeoutMs,
    run: run!,
    retry: Object.freeze({ ...defaultRetry, ...retry }),
  }
  return brandSubscriber(subscriber)
}

/** A message of the agent, as an after-hook receives it. Frozen. */
export type AfterMessage = EventOf<'assistant_msg'>['content'] &
  Pick<SubscriberEvent, 'id' | 'tenant' | 'conversationId' | 'seq' | 'at'> & {
    /** The text parts, joined. */
    readonly text: string
  }

/** Runs after each message of its agent was committed, at least once. Cannot change anything. */
export type AfterHook = {
  readonly name: string
  readonly phase: 'after'
  readonly options: SubscriberOptions
  run(message: AfterMessage, context: SubscriberContext): unknown
}

/**
 * A hook for metrics and memories: it receives each message of its agent after the commit, and cannot change anything. It is a subscriber of the name
 * `agent/hook`, with retries and a list of what failed. A message that no hook has passed has no parts.
 */
export function afterHook(name: string, run: AfterHook['run'], options: SubscriberOptions = {}): AfterHook {
  const problems = unknownKeys(options, ['retry', 'timeoutMs'])
  if (!isId(name)) problems.push("'name' must be a string of 1 to 255 bytes without control characters")
  if (typeof run !== 'function') problems.push(`'run' must be a function of the message, not ${typeof run}`)
  problems.push(...optionProblems(Object(options) as SubscriberOptions))
  if (problems.length > 0) throw new DefinitionError(`The hook '${shown(name)}'`, problems)
  return Object.freeze({ name, phase: 'after', options: Object.freeze({ ...options }), run })
}

/** Must be called with what `afterHook` returned. */
export function subscriberOf(agent: string, { name, options, run }: AfterHook): Subscriber {
  return defineSubscriber({
    ...options,
    name: `${agent}/${name}`,
    agent,
    on: ['assistant_msg'],
    run: ({ event, id, tenant, conversationId, seq, at }, context) => {
      const { content } = event as EventOf<'assistant_msg'>
      const text = content.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
      return run(Object.freeze({ ...content, id, tenant, conversationId, seq, at, text }), context)
    },
  })
}

export function isAfterHook(value: unknown): value is AfterHook {
  return (Object(value) as Partial<AfterHook>).phase === 'after'
}

const brand = Symbol.for('perdure.subscriber')

function brandSubscriber(subscriber: Subscriber): Subscriber {
  return Object.freeze(Object.defineProperty(subscriber, brand, { value: true }))
}

export function isSubscriber(value: unknown): value is Subscriber {
  return typeof value === 'object' && value !== null && brand in value
}

function optionProblems({ retry, timeoutMs }: SubscriberOptions): string[] {
  const problems = unknownKeys(retry ?? {}, Object.keys(defaultRetry)).map((problem) => `'retry': ${problem}`)
  const { maxAttempts, baseMs, maxMs } = { ...defaultRetry, ...(Object(retry) as Partial<SubscriberRetry>) }
  for (const [name, value] of Object.entries({
    'retry.maxAttempts': maxAttempts,
    'retry.baseMs': baseMs,
    'retry.maxMs': maxMs,
    timeoutMs: timeoutMs ?? 1,
  }))
    if (!Number.isSafeInteger(value) || value < 1 || value > longestMs)
      problems.push(`'${name}' must be a whole number from 1 to ${longestMs}, not ${shown(value)}`)
  return problems
}

/** A day. */
const longestMs = 86_400_000

function isTopic(topic: unknown): topic is SubscriberTopic {
  return topic === 'waiting' || (typeof topic === 'string' && topic !== 'suspension' && isKnownType(topic))
}
