import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import { expect, test } from 'vitest'
import { type Chunk, ShownMessage } from './shown-message.ts'

const call = { toolCallId: 'c1', toolName: 'refund' }

/** Two steps: a call that a person approves, and the words after it. */
const turn: readonly Chunk[] = [
  { type: 'start', messageId: 't1' },
  { type: 'start-step' },
  { type: 'reasoning-start', id: 'm1:reasoning-0' },
  { type: 'reasoning-delta', id: 'm1:reasoning-0', delta: 'Hm.' },
  { type: 'reasoning-end', id: 'm1:reasoning-0' },
  { type: 'text-start', id: 'm1:text-0' },
  { type: 'text-delta', id: 'm1:text-0', delta: 'Let me ' },
  { type: 'text-delta', id: 'm1:text-0', delta: 'ask.' },
  { type: 'text-end', id: 'm1:text-0' },
  { type: 'tool-input-start', ...call },
  { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"cents"' },
  { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: ':1}' },
  { type: 'tool-input-available', ...call, input: { cents: 1 } },
  { type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'c1:1' },
  { type: 'data-question', id: 'c1:1', data: { status: 'open' } },
  { type: 'tool-approval-response', approvalId: 'c1:1', approved: true },
  { type: 'data-question', id: 'c1:1', data: { status: 'resolved' } },
  { type: 'tool-output-available', toolCallId: 'c1', output: { paid: 1 } },
  { type: 'finish-step' },
  { type: 'start-step' },
  { type: 'text-start', id: 'm2:text-0' },
  { type: 'text-delta', id: 'm2:text-0', delta: 'Paid' },
  { type: 'text-delta', id: 'm2:text-0', delta: '.' },
  { type: 'text-end', id: 'm2:text-0' },
  { type: 'file', url: '/a.png', mediaType: 'image/png' },
]

async function pageAfter(chunks: readonly Chunk[]): Promise<UIMessage['parts']> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk as never)
      controller.close()
    },
  })
  let last: UIMessage | null = null
  for await (const message of readUIMessageStream({ stream, terminateOnError: true })) last = structuredClone(message)
  return JSON.parse(JSON.stringify(last?.parts ?? [])) as UIMessage['parts']
}

function having(chunks: readonly Chunk[]): ShownMessage {
  const shown = new ShownMessage()
  for (const chunk of chunks) if (chunk.type !== 'start') shown.take(chunk)
  return shown
}

/** A replay has what was written before it in one piece each. */
function replayOf(chunks: readonly Chunk[]): Chunk[] {
  return chunks.reduce<Chunk[]>((whole, chunk) => {
    const last = whole.at(-1)
    const isMore = last?.type === chunk.type && chunk.type.endsWith('-delta')
    const key = 'delta' in chunk ? 'delta' : 'inputTextDelta'
    if (isMore) whole[whole.length - 1] = { ...chunk, [key]: `${last[key]}${chunk[key]}` }
    else whole.push(chunk)
    return whole
  }, [])
}

test('a stream that is cut anywhere and begins again from the start shows the same in the end', async () => {
  const whole = await pageAfter(turn)
  for (let cut = 1; cut <= turn.length; cut++) {
    for (let replayed = cut; replayed <= turn.length; replayed += 3) {
      const shown = having(turn.slice(0, cut))
      const missing = shown.becomes(having(replayOf(turn.slice(0, replayed))), true)
      const rest = turn.slice(replayed).filter((chunk) => shown.take(chunk))
      expect(missing, `cut at ${cut}, replayed to ${replayed}`).not.toBeNull()
      expect(missing!.some(({ type }) => type === 'reset-step')).toBe(false)
      expect(await pageAfter([...turn.slice(0, cut), ...missing!, ...rest])).toEqual(whole)
    }
  }
})

test('the input of a call is not told twice, because a page may run the call when it comes', () => {
  const upToInput = turn.slice(0, turn.findIndex(({ type }) => type === 'tool-input-available') + 1)
  const missing = having(upToInput).becomes(having(replayOf(turn)), true)!
  expect(missing.map(({ type }) => type)).not.toContain('tool-input-available')
  expect(missing.map(({ type }) => type)).toContain('tool-output-available')
})

const draft: readonly Chunk[] = [
  { type: 'start-step' },
  { type: 'text-start', id: 'lost:text-0' },
  { type: 'text-delta', id: 'lost:text-0', delta: 'What was never committed' },
]

test('text that was lost is taken back, and what is written instead takes its place', async () => {
  const [first] = [turn.slice(0, 18)]
  const whole = await pageAfter(turn)
  const before = [...first!, { type: 'finish-step' }, ...draft]
  for (let replayed = 18; replayed <= turn.length; replayed++) {
    const shown = having(before)
    const missing = shown.becomes(having(replayOf(turn.slice(0, replayed))), true)!
    const rest = turn.slice(replayed).filter((chunk) => shown.take(chunk))
    expect(await pageAfter([...before, ...missing, ...rest]), `replayed to ${replayed}`).toEqual(whole)
  }
})

test('what a page cannot take back is said: the newest step in version 6, an older one in any', () => {
  expect(having(draft).becomes(having(turn), false)).toBeNull()
  const older = [...draft, { type: 'finish-step' }, { type: 'start-step' }]
  expect(having(older).becomes(having(turn), true)).toBeNull()
})

test('a message that was on the page before the stream is gone on with', async () => {
  const held = {
    id: 't1',
    role: 'assistant' as const,
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Let me ask.' },
      { type: 'tool-refund', toolCallId: 'c1', state: 'approval-responded' },
      { type: 'data-question', id: 'c1:1', data: { status: 'open' } },
    ],
  }
  const missing = ShownMessage.of(held).becomes(having(replayOf(turn)), true)!
  expect(missing.map(({ type }) => type)).toEqual([
    'tool-output-available',
    'data-question',
    'finish-step',
    'start-step',
    'text-start',
    'text-delta',
    'text-end',
    'file',
  ])
})
