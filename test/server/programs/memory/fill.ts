import type { Json } from '../../../../src/base/json.ts'
import type { NewEvent } from '../../../../src/log/events.ts'
import type { ConversationAttrs } from '../../../../src/store/records.ts'
import type { Store } from '../../../../src/store/store.ts'
import {
  assistantMsg,
  suspension,
  toolCall,
  toolResult,
  toolStarted,
  turnEnded,
  userMsg,
  userMsgOf,
} from '../../../../src/testing/conformance/event-builders.ts'

/** What there is to read, by the names that paths have for it. */
export type Filled = {
  readonly conversations: readonly string[]
  readonly flow: string
  readonly session: string
  readonly turnIds: Readonly<Record<string, string>>
  readonly turnRef: string
  readonly blob: string
}

const piece = 1_000_000
const text = 'x'.repeat(piece)
/** Many small values, which take twenty times as much in memory as in JSON. */
const shattered = (values: number): Json => Array.from({ length: values }, () => ({}))

/** What conversations there may be: many turns, a turn of many steps, a message of many calls, results of many small values, and calls that wait. */
export type LargeKind = 'long' | 'turn' | 'message' | 'shattered' | 'waiting'

export const largeKinds: readonly LargeKind[] = ['long', 'turn', 'message', 'shattered', 'waiting']

export type LargeSizes = {
  /** Of the conversation `long`; the rest has a tenth of it or less. */
  readonly megabytes: number
  readonly kinds: readonly LargeKind[]
  /** In each result of the conversation `shattered`. */
  readonly shatteredValues: number
}

/** A store with something large of every kind. */
export async function fillLarge(store: Store, { megabytes, kinds, shatteredValues }: LargeSizes): Promise<Filled> {
  const some = Math.max(5, Math.floor(megabytes / 10))
  const { blob } = await store.putBlob(new Uint8Array(some * piece).fill(7), 'application/pdf')
  const file = {
    type: 'file' as const,
    mediaType: 'application/pdf',
    data: { blob, mediaType: 'application/pdf', size: 1 },
  }
  const ways: Readonly<Record<LargeKind, () => Promise<void>>> = {
    long: () => fill(store, 'long', longConversation(megabytes, file)),
    turn: () => fill(store, 'turn', longTurn(some)),
    message: () => fill(store, 'message', largeMessage(some)),
    shattered: () =>
      fill(store, 'shattered', shatteredTurn(Math.max(3, Math.floor(some / 4)), shattered(shatteredValues))),
    waiting: () => fillCalls(store, 'waiting', some),
  }
  for (const kind of kinds) await ways[kind]()
  await fill(store, 'session', session(some), { kind: 'flow', agent: 'flow:import', status: 'ended' })
  for (let n = 0; n < some; n++) {
    await store.putModelCall('long', {
      turnRef: `turn-${n}/0`,
      renderedContext: text,
      evictions: { seen: 3, evicted: [] },
    })
    const parent = { id: 'long', at: 1 }
    await store.putConversation(`copy-${n}`, {
      agent: 'helper',
      title: text.slice(0, 1_000),
      settings: { text },
      parent,
    })
  }
  await store.putSnapshot('long', { text })
  return {
    conversations: kinds,
    flow: 'import',
    session: 'session',
    turnIds: { long: 't0', turn: 't', message: 't', shattered: 't', waiting: 't' },
    turnRef: 'turn-0/0',
    blob,
  }
}

type Commit = readonly NewEvent[]

async function fill(
  store: Store,
  id: string,
  commits: Iterable<Commit>,
  conversation: ConversationAttrs = { agent: 'helper' },
): Promise<void> {
  let epoch: number | null = null
  for (const events of commits) {
    const rights = epoch === null ? { conversation } : { epoch }
    const result = await store.commit(id, { events, ...rights, wakeAt: null })
    if (!result.ok) throw new Error(`${id} was not filled: ${result.conflict}`)
    epoch ??= (await store.acquireLease(id, 'filler', 3_600_000))!.epoch
  }
  if (epoch !== null) await store.releaseLease(id, epoch)
}

/** Turns with a question of a megabyte each; all have ended. */
function* longConversation(megabytes: number, file: Parameters<typeof userMsgOf>[0][number]): Generator<Commit> {
  for (let n = 0; n < megabytes; n++) {
    const turnId = `t${n}`
    const parts = n === 0 ? [file, { type: 'text' as const, text }] : [{ type: 'text' as const, text }]
    const answer = assistantMsg([{ type: 'text', text: `answer ${n}` }], { turnId, messageId: `m${n}`, seen: 1 })
    yield [userMsgOf(parts, turnId), answer, turnEnded(turnId)]
  }
}

/** One turn of many steps, each with a result of a megabyte; it waits for an approval. */
function* longTurn(megabytes: number): Generator<Commit> {
  yield [userMsg('go', 't')]
  for (let n = 0; n < megabytes; n++) {
    const callId = `turn-call-${n}`
    yield [calling([callId], `turn-message-${n}`), toolCall(callId, { turnId: 't', gated: false }), toolStarted(callId)]
    yield [toolResult(callId, { ok: true, result: text })]
  }
  const callId = 'turn-call-last'
  yield [calling([callId], 'turn-message-last'), toolCall(callId, { turnId: 't' }), suspension(callId)]
}

/** One message with many calls, each with a result of a megabyte. */
function* largeMessage(megabytes: number): Generator<Commit> {
  const callIds = Array.from({ length: megabytes }, (_, n) => `message-call-${n}`)
  yield [userMsg('go', 't')]
  const calls = callIds.map((callId) => toolCall(callId, { turnId: 't', gated: false }))
  yield [calling(callIds, 'message-message'), ...calls, ...callIds.map((callId) => toolStarted(callId))]
  for (const callId of callIds) yield [toolResult(callId, { ok: true, result: text })]
}

function* shatteredTurn(results: number, result: Json): Generator<Commit> {
  yield [userMsg('go', 't')]
  for (let n = 0; n < results; n++) {
    const callId = `shattered-call-${n}`
    const message = calling([callId], `shattered-message-${n}`)
    yield [message, toolCall(callId, { turnId: 't', gated: false }), toolStarted(callId)]
    yield [toolResult(callId, { ok: true, result })]
  }
}

/** Many calls that wait for an answer, with arguments of a megabyte each. */
async function fillCalls(store: Store, id: string, calls: number): Promise<void> {
  const callIds = Array.from({ length: calls }, (_, n) => `waiting-call-${n}`)
  await fill(store, id, [
    [userMsg('go', 't')],
    [calling(callIds, 'waiting-message')],
    ...callIds.map((callId) => [toolCall(callId, { turnId: 't', args: text })]),
    callIds.map((callId) => suspension(callId)),
  ])
  for (const callId of callIds) await store.upsertToolCall(id, { id: callId, name: 'pay', args: text })
}

function* session(megabytes: number): Generator<Commit> {
  yield [{ type: 'flow_started', content: { flow: 'import', version: '1', input: 'go', who: 'ann' } }]
  for (let position = 1; position <= megabytes; position++) {
    const op = { kind: 'step' as const, name: 'read', input: null, ifInterrupted: 'rerun' as const }
    yield [
      { type: 'flow_opened', content: { position, op, asked: position, id: `step-${position}` } },
      { type: 'flow_outcome', content: { position, ok: true, value: text } },
    ]
  }
  yield [{ type: 'flow_ended', content: { status: 'done', result: 'read' } }]
}

function calling(callIds: readonly string[], messageId: string): NewEvent {
  const parts = callIds.map((callId) => ({ type: 'call' as const, callId }))
  return assistantMsg(parts, { turnId: 't', messageId, seen: 1 })
}
