import { isTraceparent } from '../base/traceparent.ts'
import { isOwnersEvent } from '../log/event-roles.ts'
import type { EventOf, LogEvent, ModelRef, Resolution, SuspensionKind, ToolCallContent, Usage } from '../log/events.ts'
import type { ModelCall } from '../store/records.ts'
import { attributes as names, operations, plainName } from './names.ts'
import {
  contentOf,
  type Mark,
  messageText,
  type SpanAttributes,
  type SpanRecord,
  type Spans,
  spanOf,
  stretchOf,
} from './span-record.ts'

export type TurnLog = {
  readonly ref: { readonly tenant: string; readonly id: string }
  readonly agent: string
  readonly turnId: string
  /** Of the turn, in order; others among them are left out. */
  readonly events: readonly LogEvent[]
  /** Audit rows of the turn, in order. */
  readonly calls: readonly ModelCall[]
  readonly heldFrom: number
  /** Whether texts, arguments and results are put into attributes. */
  readonly content: boolean
}

/** The spans of what was done for a turn since its last rest. Pure. */
export function turnSpans(log: TurnLog): Spans {
  const walk = new TurnWalk(log)
  for (const event of log.events) walk.take(event)
  return walk.spans()
}

type Call = {
  readonly content: ToolCallContent
  readonly at: number
  startedAt: number | null
  attempts: number
  waiting: { readonly kind: SuspensionKind; readonly at: number } | null
}

type Found = { readonly seq: number; readonly span: SpanRecord }

class TurnWalk {
  readonly #log: TurnLog
  readonly #common: SpanAttributes
  readonly #open = new Map<string, Call>()
  readonly #marks: Mark[] = []
  readonly #found: Found[] = []
  readonly #messages: EventOf<'assistant_msg'>[] = []
  readonly #withheld = new Map<string, string>()
  readonly #traces: string[] = []
  #first: EventOf<'user_msg'> | null = null
  #isCancelled = false
  #end: EventOf<'turn_ended'> | null = null
  #lastAt = 0
  /** Of the commit before the one that is read. */
  #beforeAt = 0

  constructor(log: TurnLog) {
    this.#log = log
    const { ref, agent, turnId } = log
    this.#common = {
      [names.agent]: plainName(agent),
      [names.conversation]: ref.id,
      [names.session]: ref.id,
      [names.tenant]: ref.tenant,
      [names.turn]: turnId,
    }
  }

  take(event: LogEvent): void {
    if (event.at !== this.#lastAt) this.#beforeAt = this.#lastAt || event.at
    this.#lastAt = event.at
    if (!this.#takes(event)) return
    const wakes = event.type === 'resolution' || event.type === 'cancel_requested' || event.type === 'user_msg'
    const rests = !this.#isCancelled && this.#open.size > 0 && [...this.#open.values()].every(({ waiting }) => waiting)
    this.#marks.push({ seq: event.seq, at: event.at, rests, isOwners: isOwnersEvent(event), wakes })
  }

  spans(): Spans {
    const { turnId, heldFrom, events, calls, content } = this.#log
    const { afterSeq, startAt } = stretchOf(this.#marks, heldFrom)
    const chats = chatSpans({
      turnId,
      messages: this.#messages,
      rows: calls,
      events,
      content,
      common: this.#common,
      withheld: this.#withheld,
    })
    const found = [...this.#found, ...chats].filter(({ seq }) => seq > afterSeq).map(({ span }) => span)
    const [first = null, ...links] = this.#traces
    const beside = found.filter(isBeside(startAt))
    const children = found.filter((span) => !beside.includes(span)).sort((one, other) => one.startAt - other.startAt)
    const isOnlyAWait = children.length === 0 && !this.#end
    return { traceparent: first, links, work: isOnlyAWait ? null : this.#work(startAt, children), beside }
  }

  #work(startAt: number, children: readonly SpanRecord[]): SpanRecord {
    const { agent, content } = this.#log
    const status = this.#end?.content.status ?? 'waiting'
    const last = this.#messages.findLast(({ content: { messageId } }) => !this.#withheld.has(messageId))
    const said = {
      [names.inputMessages]: this.#first && messageText('user', this.#first.content.message.parts),
      [names.outputMessages]: this.#end && last ? messageText('assistant', last.content.parts) : null,
    }
    return spanOf({
      operation: operations.turn,
      name: plainName(agent),
      startAt,
      endAt: this.#lastAt,
      children,
      error: status === 'failed' ? codeIn(this.#end?.content.reason ?? null) : null,
      attributes: { ...this.#common, [names.status]: status, ...contentOf(content, said) },
    })
  }

  /** False for an event of another turn. */
  #takes(event: LogEvent): boolean {
    const { turnId } = this.#log
    switch (event.type) {
      case 'user_msg': {
        if (event.content.turnId !== turnId) return false
        this.#first ??= event
        if (isTraceparent(event.content.traceparent)) this.#traces.push(event.content.traceparent)
        return true
      }
      case 'assistant_msg':
        if (event.content.turnId !== turnId) return false
        this.#messages.push(event)
        return true
      case 'withheld':
        this.#withheld.set(event.content.messageId, event.content.hook)
        return true
      case 'injection':
        if (event.content.turnId !== turnId) return false
        this.#add(event, this.#hook(event.content.hook, this.#beforeAt, event.at))
        return true
      case 'cancel_requested':
        this.#isCancelled ||= event.content.turnId === turnId
        return event.content.turnId === turnId
      case 'turn_ended':
        if (event.content.turnId !== turnId) return false
        this.#end = event
        return true
      case 'tool_call':
        if (event.content.turnId !== turnId) return false
        this.#open.set(event.content.callId, {
          content: event.content,
          at: event.at,
          startedAt: null,
          attempts: 0,
          waiting: null,
        })
        return true
      default:
        return 'callId' in event.content && this.#takesOfCall(event)
    }
  }

  #takesOfCall(event: LogEvent): boolean {
    const call = this.#open.get((event.content as { readonly callId: string }).callId)
    if (!call) return false
    switch (event.type) {
      case 'tool_started':
        call.startedAt = event.at
        call.attempts = event.content.attempt
        return true
      case 'suspension':
        call.waiting = { kind: event.content.kind, at: event.at }
        return true
      case 'resolution':
        this.#resolved(event, call)
        return true
      case 'tool_result': {
        const { ok, outcome } = event.content
        const error = ok ? null : outcome === 'unknown' ? 'interrupted' : 'tool_failed'
        const told = ok ? event.content.result : null
        this.#add(event, this.#tool(call, call.startedAt ?? event.at, event.at, error, told))
        this.#open.delete(event.content.callId)
        return true
      }
      default:
        return true
    }
  }

  #resolved({ seq, at, content }: EventOf<'resolution'>, call: Call): void {
    const since = call.waiting?.at ?? call.at
    call.waiting = null
    const { kind, status, value } = content
    if (kind === 'sub_agent') {
      const error = status !== 'resolved' || Object(value).ok === false ? 'tool_failed' : null
      this.#found.push({ seq, span: this.#tool(call, since, at, error, value) })
    } else {
      const attributes = {
        ...this.#common,
        [names.tool]: plainName(call.content.name),
        [names.callId]: call.content.callId,
        [names.waitKind]: kind,
        [names.status]: status,
      }
      const name = plainName(call.content.name)
      const error = status === 'expired' ? 'expired' : null
      this.#found.push({
        seq,
        span: spanOf({ operation: operations.wait, name, startAt: since, endAt: at, attributes, error }),
      })
    }
    if (endsCall(content)) this.#open.delete(content.callId)
  }

  #add({ seq }: LogEvent, span: SpanRecord): void {
    this.#found.push({ seq, span })
  }

  #tool(call: Call, startAt: number, endAt: number, error: string | null, result: unknown): SpanRecord {
    const { name, callId, args } = call.content
    const attempt = call.attempts > 1 ? { [names.attempt]: call.attempts } : {}
    const told = contentOf(this.#log.content, { [names.toolArguments]: args, [names.toolResult]: result ?? null })
    return spanOf({
      operation: operations.tool,
      name: plainName(name),
      startAt,
      endAt,
      error,
      attributes: { ...this.#common, [names.tool]: plainName(name), [names.callId]: callId, ...attempt, ...told },
    })
  }

  #hook(hook: string, startAt: number, endAt: number): SpanRecord {
    const attributes = { ...this.#common, [names.hook]: plainName(hook), [names.timing]: 'log' }
    return spanOf({ operation: operations.hook, name: plainName(hook), startAt, endAt, attributes })
  }
}

/** What a rest lies in, and every wait for a person. */
function isBeside(startAt: number): (span: SpanRecord) => boolean {
  return (span) => span.operation === operations.wait || span.startAt < startAt
}

/** Approvals let a call continue, and so do decisions about an interrupted one. */
function endsCall({ kind, status, value }: Resolution): boolean {
  if (status !== 'resolved') return true
  return kind === 'approval' ? value === false : kind !== 'recovery'
}

/** The code that the reason of a failed turn begins with. */
function codeIn(reason: string | null): string {
  return /^[a-z_]{1,64}/.exec(reason ?? '')?.[0] ?? 'failed'
}

type Message = EventOf<'assistant_msg'>

type Chats = {
  readonly turnId: string
  readonly messages: readonly Message[]
  readonly rows: readonly ModelCall[]
  readonly events: readonly LogEvent[]
  readonly content: boolean
  readonly common: SpanAttributes
  /** The hook that did not pass a message, by the message's id. */
  readonly withheld: ReadonlyMap<string, string>
}

/** One span for each request to a model provider, where the audit knows them; else one for each message. Each with the seq of its message. */
function chatSpans(chats: Chats): Found[] {
  const { messages, events, withheld } = chats
  const rows = chats.rows.filter(({ turnRef }) => turnRef.startsWith(`${chats.turnId}/`))
  const found: Found[] = []
  let next = 0
  for (const message of messages) {
    const from = next
    while (rows[next] && rows[next]!.at <= message.at) if (rows[next++]!.status === 'ok') break
    const attempts = rows.slice(from, next)
    const { seq, at, content } = message
    attempts.forEach((row, index) => {
      found.push({ seq, span: attemptSpan(row, index === attempts.length - 1 ? message : null, chats) })
    })
    if (attempts.length === 0) found.push({ seq, span: messageSpan(message, events, chats) })
    const hook = withheld.get(content.messageId)
    if (hook !== undefined) found.push({ seq, span: judgement(hook, attempts.at(-1)?.at ?? at, at, chats) })
  }
  return found
}

/** `message`: its result; null if another attempt followed. */
function attemptSpan(row: ModelCall, message: Message | null, chats: Chats): SpanRecord {
  const { provider, modelId, attempt } = Object(row.model) as Record<string, unknown>
  const ref = { provider: String(provider ?? ''), modelId: String(modelId ?? '') }
  const timing = { [names.timing]: 'audit', [names.attempt]: typeof attempt === 'number' ? attempt : 1 }
  return spanOf({
    ...chat(ref, usageIn(row.usage), message, chats, timing),
    startAt: row.at - (row.latencyMs ?? 0),
    endAt: row.at,
    error: row.status === 'failed' ? 'model_failed' : null,
  })
}

/** From the event that its prompt ends with to its own: no more is known without an audit. */
function messageSpan(message: Message, events: readonly LogEvent[], chats: Chats): SpanRecord {
  const { model, usage, seen, status } = message.content
  const seenAt = events.findLast(({ seq }) => seq <= seen)?.at ?? message.at
  return spanOf({
    ...chat(model, usage, message, chats, { [names.timing]: 'log' }),
    startAt: seenAt,
    endAt: message.at,
    error: status === 'failed' ? 'model_failed' : null,
  })
}

function chat(
  { provider, modelId }: ModelRef,
  usage: Usage,
  message: Message | null,
  { common, content, withheld }: Chats,
  more: SpanAttributes,
): Pick<SpanRecord, 'operation' | 'name' | 'kind' | 'attributes'> {
  const name = plainName(modelId)
  const isShown = message && !withheld.has(message.content.messageId)
  const attributes = {
    ...common,
    [names.provider]: plainName(provider),
    [names.requestModel]: name,
    ...(message
      ? { [names.responseModel]: name, [names.finishReasons]: [plainName(message.content.finishReason)] }
      : {}),
    ...usageAttributes(usage),
    ...more,
    ...contentOf(content, { [names.outputMessages]: isShown ? messageText('assistant', message.content.parts) : null }),
  }
  return { operation: operations.model, name, kind: 'client', attributes }
}

/** A post-hook decides between the end of the stream and the commit of the message. */
function judgement(hook: string, startAt: number, endAt: number, { common }: Chats): SpanRecord {
  const attributes = { ...common, [names.hook]: plainName(hook), [names.status]: 'withheld', [names.timing]: 'log' }
  return spanOf({ operation: operations.hook, name: plainName(hook), startAt, endAt, attributes })
}

function usageAttributes(usage: Usage): SpanAttributes {
  const counted = {
    [names.inputTokens]: usage.inputTokens,
    [names.outputTokens]: usage.outputTokens,
    [names.cacheReadTokens]: usage.cacheReadTokens,
    [names.cacheCreationTokens]: usage.cacheWriteTokens,
  }
  return Object.fromEntries(Object.entries(counted).filter(([, tokens]) => isCount(tokens))) as SpanAttributes
}

function usageIn(usage: unknown): Usage {
  return Object(usage) as Usage
}

function isCount(tokens: unknown): boolean {
  return typeof tokens === 'number' && Number.isFinite(tokens)
}
