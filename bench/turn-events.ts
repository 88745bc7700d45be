import type { NewEvent } from '../src/log/events.ts'
import type { Store } from '../src/store/store.ts'

const eventsPerTurn = 7
const turnsPerCommit = 40

/**
 * A conversation of whole turns with a tool call each, as the engine writes them; the last one waits for an approval.
 * At least this many events.
 */
export async function fillConversation(store: Store, id: string, events: number): Promise<void> {
  const turns = Math.ceil((events - 4) / eventsPerTurn)
  await store.putConversation(id, { agent: 'bench' })
  for (let from = 0; from < turns; from += turnsPerCommit) {
    const size = Math.min(turnsPerCommit, turns - from)
    const batch = Array.from({ length: size }, (_, n) => toolTurn(from + n)).flat()
    await store.commit(id, { events: batch, wakeAt: null })
  }
  const callId = `${id}-pending`
  const [opened, message, call] = toolTurn(turns, callId)
  const pending: NewEvent = {
    type: 'suspension',
    content: { callId, round: 1, kind: 'approval', prompt: null, schema: true, expiresInMs: null },
  }
  const row = { id: callId, name: 'look', executor: 'server', args: { q: 'x' }, round: 1, kind: 'approval' } as const
  await store.commit(id, { events: [opened!, message!, call!, pending], calls: [row], wakeAt: null })
}

/** About 1.5 KiB in seven events. */
function toolTurn(n: number, callId = `call-${n}`): NewEvent[] {
  const turnId = `turn-${n}`
  const model = { provider: 'bench', modelId: 'model-1' }
  const message = (messageId: string, seen: number, parts: readonly object[]) =>
    ({
      type: 'assistant_msg',
      content: { turnId, messageId, seen, parts, model, usage: {}, finishReason: 'stop', status: 'complete' },
    }) as NewEvent
  const text = (words: string) => ({ type: 'text', text: words.repeat(5) })
  return [
    {
      type: 'user_msg',
      content: {
        turnId,
        message: { parts: [{ type: 'text', text: `Where is order ${n}? `.repeat(4) }] },
        options: {},
        who: 'ann',
      },
    },
    message(`m-${n}-1`, n * eventsPerTurn + 1, [text('I look it up. '), { type: 'call', callId }]),
    {
      type: 'tool_call',
      content: {
        ...{ turnId, callId, providerCallId: `p-${n}`, name: 'look', args: { order: n }, executor: 'server' },
        ...{ gated: false, ifInterrupted: 'report', timeoutMs: null, expiresInMs: null },
      },
    },
    { type: 'tool_started', content: { callId, attempt: 1 } },
    { type: 'tool_result', content: { callId, ok: true, result: { found: 'the order was shipped. '.repeat(10) } } },
    message(`m-${n}-2`, n * eventsPerTurn + 5, [text('It was shipped on Monday. ')]),
    { type: 'turn_ended', content: { turnId, status: 'completed', reason: null } },
  ]
}
