import { callEnd } from '../../src/log/call-phase.ts'
import type { AssistantPart, LogEvent } from '../../src/log/events.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import type { GeneratedLog } from './log-generator.ts'

/** What a log has in it, so that a run can say how much of everything it has seen. */
export function featuresOf({ log, hasCrashed, isForked, isRestored }: GeneratedLog): string[] {
  const state = foldEvents(log)
  const calls = state.turns.flatMap((turn) => turn.calls)
  const resolutions = log.flatMap((event) => (event.type === 'resolution' ? [event.content] : []))
  const messages = log.flatMap((event) => (event.type === 'assistant_msg' ? [event.content] : []))
  const parts = messages.flatMap((message) => message.parts)
  const hasPart = (...types: AssistantPart['type'][]) => parts.some((part) => types.includes(part.type))
  const makers = new Set(messages.map((message) => message.model.provider))
  const found: Record<string, boolean> = {
    crash: hasCrashed,
    fork: isForked,
    restored: isRestored,
    'restored and waiting':
      isRestored && state.turns.some(({ calls, end }) => !end && calls.some(({ restoredFrom }) => restoredFrom)),
    cancel: log.some((event) => event.type === 'cancel_requested'),
    'cancelled message': messages.some((message) => message.status === 'cancelled'),
    'failed message': messages.some((message) => message.status === 'failed'),
    'parallel calls': messages.some((message) => message.parts.filter((part) => part.type === 'call').length > 1),
    denied: resolutions.some(({ status, value }) => status === 'denied' || value === false),
    expired: resolutions.some(({ status }) => status === 'expired'),
    edited: resolutions.some(({ edited }) => edited !== undefined),
    'interrupted call': calls.some((call) => callEnd(call)?.outcome === 'unknown'),
    'open call': calls.some((call) => !callEnd(call)),
    'hosted call': hasPart('provider_call', 'provider_result'),
    reasoning: hasPart('reasoning'),
    'several providers': makers.size > 1,
    steering: log.some((event, index) => isSteering(event, log.slice(0, index))),
    regeneration: log.some((event) => event.type === 'regeneration'),
    withheld: log.some((event) => event.type === 'withheld'),
    replaced: state.turns.some((turn) => turn.replaced),
    'replaced after calls': state.turns.some((turn) => turn.replaced?.calls.length),
    note: log.some((event) => event.type === 'note'),
    'moved deadline': log.some((event) => event.type === 'deadline_moved'),
    injection: log.some((event) => event.type === 'injection'),
    file:
      hasPart('file') ||
      log.some(
        (event) => event.type === 'user_msg' && event.content.message.parts.some((part) => part.type === 'file'),
      ),
    'empty text': log.some(hasEmptyText),
    'odd name or id': calls.some(({ name, providerCallId }) => !isPlain(name) || !isPlain(providerCallId)),
    'repeated id': new Set(calls.map((call) => call.providerCallId)).size < calls.length,
    'half a pair': JSON.stringify(log).includes('\\ud83d '),
  }
  return Object.keys(found).filter((name) => found[name])
}

function isSteering(event: LogEvent, before: readonly LogEvent[]): boolean {
  if (event.type !== 'user_msg') return false
  const { turnId } = event.content
  return before.some((earlier) => earlier.type === 'user_msg' && earlier.content.turnId === turnId)
}

function hasEmptyText(event: LogEvent): boolean {
  if (event.type !== 'user_msg' && event.type !== 'assistant_msg') return false
  const parts = event.type === 'user_msg' ? event.content.message.parts : event.content.parts
  return parts.length === 0 || parts.some((part) => part.type === 'text' && part.text.trim() === '')
}

function isPlain(name: string): boolean {
  return /^[a-zA-Z_][a-zA-Z0-9_-]{0,39}$/.test(name)
}
