import { isSameJson, type Json, type JsonObject } from '../../base/json.ts'
import type { UiCall, UiPart, UiStep, UiText, UiTurn } from '../ui/ui-turn.ts'
import { type AgUiEvent, resultId, textId } from './ag-ui-event.ts'
import type { ClaimedMessage } from './run-input.ts'

type SentText = { readonly kind: UiText['kind']; readonly messageId: string; text: string; isOpen: boolean }
type SentCall = { readonly input: Json; hasEnded: boolean }

/**
 * The part of a turn that one client has received. Calls are sent once they are in the log, and client tools once the client may run them: the end of a call tells clients to run it.
 */
export class SentTurn {
  readonly #texts = new Map<string, SentText>()
  readonly #calls = new Map<string, SentCall>()
  readonly #attachments = new Set<string>()
  #progress: UiTurn['progress'] = {}
  #shown: readonly UiStep[] = []
  #stepsBefore = 0

  /** The events that bring the client to `turn`. Null when something that it has was withdrawn: it must start over. */
  advance(turn: UiTurn): AgUiEvent[] | null {
    if (this.#isWithdrawn(turn)) return null
    const known = new Set(this.#shown)
    const events: AgUiEvent[] = []
    for (const step of turn.steps) {
      if (known.has(step)) continue
      const changes = this.#step(step)
      if (!changes) return null
      events.push(...changes)
    }
    this.#shown = turn.steps
    this.#stepsBefore = turn.stepsBefore
    return [...events, ...this.#progressTo(turn.progress)]
  }

  /** Ends what is being written. */
  close(): AgUiEvent[] {
    return [...this.#texts].flatMap(([id, text]) => (text.isOpen ? this.#end(id, text) : []))
  }

  /** Takes over what a client claims to show of `turn`. False when something there is not true: it must start over. */
  claim(messages: readonly ClaimedMessage[], turn: UiTurn): boolean {
    const newest = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
    const parts = new Map<string, { readonly part: UiText; readonly step: UiStep }>()
    const calls = new Map<string, { readonly call: UiCall; readonly isAbridged: boolean }>()
    for (const step of turn.steps) {
      for (const part of step.parts) {
        if (part.kind === 'text' || part.kind === 'reasoning') {
          parts.set(textId(step.messageId, part.key), { part, step })
        } else if (part.kind === 'call') calls.set(part.key, { call: part, isAbridged: step.isAbridged ?? false })
      }
    }
    const answered = new Set(newest.map(({ toolCallId }) => toolCallId))
    for (const { id, role, content, toolCalls } of newest) {
      const shown = typeof content === 'string' ? content : ''
      if ((role === 'assistant' || role === 'reasoning') && shown !== '') {
        const found = parts.get(id)
        if (!found?.part.isDone) return false
        const { part, step } = found
        if (part.text !== shown && !(step.isAbridged && shown.startsWith(part.text.slice(0, -1)))) return false
        this.#texts.set(id, { kind: part.kind, messageId: step.messageId, text: part.text, isOpen: false })
      }
      for (const claimed of Array.isArray(toolCalls) ? toolCalls : []) {
        const { id: callId, function: made } = Object(claimed) as JsonObject
        const found = calls.get(String(callId))
        if (!found) return false
        const { call, isAbridged } = found
        if (!isAbridged && !hasArguments(made, call.input)) return false
        this.#calls.set(call.key, { input: call.input, hasEnded: answered.has(call.key) })
      }
    }
    return true
  }

  /** Steps at the beginning may leave the view of a long turn; the client keeps them. */
  #isWithdrawn({ steps, stepsBefore }: UiTurn): boolean {
    const present = new Set(steps.map(({ messageId }) => messageId))
    const left = this.#shown.slice(Math.max(0, stepsBefore - this.#stepsBefore))
    return left.some(
      ({ messageId, parts }) => !present.has(messageId) && parts.some((part) => this.#has(messageId, part)),
    )
  }

  #has(messageId: string, part: UiPart): boolean {
    if (part.kind === 'call') return this.#calls.has(part.key)
    return this.#texts.has(textId(messageId, part.key)) || this.#attachments.has(`${messageId}:${part.key}`)
  }

  #step(step: UiStep): AgUiEvent[] | null {
    const events: AgUiEvent[] = []
    const present = new Set<string>()
    for (const part of step.parts) {
      present.add(textId(step.messageId, part.key))
      const changes = this.#part(part, step)
      if (!changes) return null
      events.push(...changes)
    }
    for (const [id, text] of this.#texts) {
      if (!text.isOpen || text.messageId !== step.messageId || present.has(id)) continue
      if (text.kind === 'text') return null
      events.push(...this.#end(id, text))
    }
    return events
  }

  #part(part: UiPart, step: UiStep): AgUiEvent[] | null {
    switch (part.kind) {
      case 'text':
      case 'reasoning':
        return this.#text(part, step)
      case 'call':
        return this.#call(part, step)
      case 'attachment': {
        const id = `${step.messageId}:${part.key}`
        if (this.#attachments.has(id)) return []
        this.#attachments.add(id)
        return [
          { type: 'CUSTOM', name: `perdure.${part.chunk.type}`, value: { messageId: step.messageId, ...part.chunk } },
        ]
      }
      // Open questions are the interrupts at the end of the run.
      case 'question':
        return []
    }
  }

  #text(part: UiText, { messageId, isAbridged = false }: UiStep): AgUiEvent[] | null {
    const id = textId(messageId, part.key)
    const { kind, text, isDone } = part
    const known = this.#texts.get(id)
    if (!known) {
      if (text === '') return []
      this.#texts.set(id, { kind, messageId, text, isOpen: !isDone })
      return [...starting(kind, id), content(kind, id, text), ...(isDone ? ending(kind, id) : [])]
    }
    if (!known.isOpen) return known.text === text || isAbridged || kind === 'reasoning' ? [] : null
    const shown = known.text
    // Text being written only grows. The committed text may differ.
    const isGrown = isDone ? text.startsWith(shown) : text.length >= shown.length
    // The committed reasoning may differ from what was streamed of it.
    if (!isGrown && kind === 'text' && !isAbridged) return null
    const delta = isGrown ? text.slice(shown.length) : ''
    known.text = text
    return [...(delta === '' ? [] : [content(kind, id, delta)]), ...(isDone ? this.#end(id, known) : [])]
  }

  #end(id: string, text: SentText): AgUiEvent[] {
    text.isOpen = false
    return ending(text.kind, id)
  }

  #call(call: UiCall, { messageId, isAbridged = false }: UiStep): AgUiEvent[] | null {
    const { key: toolCallId, name: toolCallName, input } = call
    if (!isShown(call)) return []
    const known = this.#calls.get(toolCallId)
    // Its arguments were edited.
    if (known && !isAbridged && !isSameJson(known.input, input)) return null
    const sent = known ?? { input, hasEnded: false }
    this.#calls.set(toolCallId, sent)
    const made: AgUiEvent[] = known
      ? []
      : [
          { type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId: messageId },
          { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(input) },
          { type: 'TOOL_CALL_END', toolCallId },
        ]
    const result = sent.hasEnded ? null : resultOf(call)
    if (!result) return made
    sent.hasEnded = true
    const { content, ...metadata } = result
    const messageOf = { messageId: resultId(toolCallId), toolCallId, role: 'tool' as const, content }
    return [...made, { type: 'TOOL_CALL_RESULT', ...messageOf, ...(metadata.status && { metadata }) }]
  }

  #progressTo(progress: UiTurn['progress']): AgUiEvent[] {
    const before = this.#progress
    this.#progress = progress
    if (before === progress) return []
    return Object.entries(progress).flatMap(([callId, made]): AgUiEvent[] =>
      before[callId] === made ? [] : [{ type: 'CUSTOM', name: 'perdure.progress', value: { callId, progress: made } }],
    )
  }
}

function hasArguments(made: Json | undefined, input: Json): boolean {
  const text = (Object(made) as JsonObject)['arguments']
  try {
    return typeof text === 'string' && isSameJson(JSON.parse(text) as Json, input)
  } catch {
    return false
  }
}

/** A client runs a client tool as soon as it has the call. So the call is kept back until that time has come. */
export function isShown({ stage, isForPage }: UiCall): boolean {
  if (stage.type === 'writing' || stage.type === 'refused') return false
  return !(isForPage && (stage.type === 'held' || stage.type === 'asked'))
}

/** What a tool message says about how a call ended. Null while it has not. */
export function resultOf({ stage }: UiCall): { readonly content: string; readonly status?: 'error' | 'denied' } | null {
  switch (stage.type) {
    case 'output':
      return { content: typeof stage.output === 'string' ? stage.output : JSON.stringify(stage.output) }
    case 'error':
      return { content: stage.errorText, status: 'error' }
    case 'denied':
      return { content: 'This call was denied. It did not run.', status: 'denied' }
    default:
      return null
  }
}

function starting(kind: UiText['kind'], messageId: string): AgUiEvent[] {
  if (kind === 'text') return [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }]
  return [
    { type: 'REASONING_START', messageId },
    { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
  ]
}

function content(kind: UiText['kind'], messageId: string, delta: string): AgUiEvent {
  return { type: kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT', messageId, delta }
}

function ending(kind: UiText['kind'], messageId: string): AgUiEvent[] {
  if (kind === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId }]
  return [
    { type: 'REASONING_MESSAGE_END', messageId },
    { type: 'REASONING_END', messageId },
  ]
}
