import type { AssistantPart, EventOf, LogEvent } from '../../src/log/events.ts'
import { emptyState } from '../../src/log/state.ts'
import { projectView } from '../../src/view/growing-view.ts'
import type { LiveContent, LiveEvent, View } from '../../src/view/view.ts'
import { viewOf } from '../../src/view/view-of.ts'
import { Choices } from '../log/choices.ts'
import { simulate } from '../log/simulate.ts'

const filmedId = 'story'

/** Every view of a finished history, with its messages shown as they are written; now and then one is withdrawn after some of it was shown. */
export function uiFilm(tape: readonly number[], liveTape: readonly number[]): View[] {
  const choices = new Choices(liveTape)
  const log = simulate(tape).log.map((event) => (event.type === 'assistant_msg' ? enriched(event) : event))
  const views: View[] = [viewOf(filmedId, emptyState)]
  const show = (event: LogEvent | LiveEvent): void => {
    const next = projectView(views.at(-1)!, event)
    if (next !== views.at(-1)) views.push(next)
  }
  for (const [index, event] of log.entries()) {
    const live = (content: LiveContent) => show({ conversationId: filmedId, seq: event.seq - 1, ...content })
    if (event.type === 'assistant_msg') {
      if (choices.below(4) === 3) withdrawn(event, choices).forEach(live)
      if (choices.below(5) < 4) writing(event, callsAfter(log, index), choices).forEach(live)
    }
    if (event.type === 'tool_result' && choices.below(2) === 1)
      live({ type: 'tool_progress', callId: event.content.callId, payload: choices.below(100) })
    show(event)
  }
  return views
}

/** With parts of every kind. */
function enriched(event: EventOf<'assistant_msg'>): LogEvent {
  const { messageId } = event.content
  const n = Number(/\d+/.exec(messageId)?.[0] ?? 0)
  const thought = {
    type: 'reasoning',
    text: `thinking of ${messageId}`,
    providerMetadata: { test: { signature: 's' } },
  }
  const sealed = { type: 'reasoning', text: '', providerMetadata: { test: { sealed: 'x' } } }
  const search = { type: 'provider_call', providerCallId: 'p1', name: 'search', args: { q: messageId } }
  const found = { type: 'provider_result', providerCallId: 'p1', name: 'search', result: [messageId] }
  const source = {
    type: 'source',
    source: { sourceType: 'url', id: 's1', url: 'https://example.com', title: 'Example' },
  }
  const file = { type: 'file', mediaType: 'image/png', data: { blob: 'a'.repeat(64), mediaType: 'image/png', size: 1 } }
  const before = [n % 2 ? [thought] : [], n % 5 === 1 ? [sealed] : [], n % 3 === 1 ? [search, found] : []].flat()
  const after = [n % 4 === 1 ? [source] : [], n % 7 === 1 ? [file] : []].flat()
  const parts = [...before, ...event.content.parts, ...after] as AssistantPart[]
  return { ...event, content: { ...event.content, parts } }
}

function callsAfter(log: readonly LogEvent[], index: number): EventOf<'tool_call'>[] {
  const rest = log.slice(index + 1)
  const end = rest.findIndex(({ type }) => type !== 'tool_call' && type !== 'tool_result')
  return rest.slice(0, end < 0 ? undefined : end).filter((event) => event.type === 'tool_call')
}

/** All that is shown of a message before it is committed, or only its beginning, as when the last of it came together. */
function writing(event: EventOf<'assistant_msg'>, calls: readonly EventOf<'tool_call'>[], choices: Choices) {
  const { turnId, messageId, parts } = event.content
  const pieces: LiveContent[] = []
  const counts = { text: 0, reasoning: 0, plain: 0 }
  const base = () => ({ turnId, messageId, n: pieces.length + 1 })
  for (const part of parts) {
    if ((part.type === 'text' || part.type === 'reasoning') && part.text !== '') {
      const id = `${part.type}-${counts[part.type]++}`
      for (const delta of cut(part.text, choices))
        pieces.push({ ...base(), type: `${part.type}_delta`, part: id, delta })
    }
    const call = part.type === 'call' ? calls.find(({ content }) => content.callId === part.callId) : null
    const plain =
      part.type === 'plain_call' ? { callId: `${messageId}-${counts.plain++}`, name: part.name, args: part.args } : null
    const { callId, name, args } = call?.content ?? plain ?? { callId: '', name: '', args: null }
    if (callId === '') continue
    for (const delta of cut(JSON.stringify(args), choices))
      pieces.push({ ...base(), type: 'tool_input_delta', part: callId, callId, name, delta })
  }
  // A call whose input did not come whole is not in the message.
  if (event.content.status !== 'complete' && choices.below(2) === 1) {
    const callId = `cut-${messageId}`
    pieces.push({ ...base(), type: 'tool_input_delta', part: callId, callId, name: 'refund', delta: '{"cen' })
  }
  return choices.below(3) === 2 ? pieces.slice(0, choices.below(pieces.length + 1)) : pieces
}

/** Text that a process showed which then died. */
function withdrawn(event: EventOf<'assistant_msg'>, choices: Choices): LiveContent[] {
  const { turnId } = event.content
  const messageId = `ghost-${event.seq}`
  const n = choices.below(3) + 1
  const shown = Array.from({ length: n }, (_, index): LiveContent => {
    const piece = { turnId, messageId, n: index + 1, delta: `ghost ${index}` }
    return index === 2
      ? { ...piece, type: 'tool_input_delta', part: 'gc', callId: `gc-${event.seq}`, name: 'refund' }
      : { ...piece, type: 'text_delta', part: 'text-0' }
  })
  return [...shown, { type: 'message_discarded', turnId, messageId }]
}

function cut(text: string, choices: Choices): string[] {
  const at = choices.below(text.length + 1)
  return [text.slice(0, at), text.slice(at)].filter((piece) => piece !== '')
}
