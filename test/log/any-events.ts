import fc from 'fast-check'
import type { Json, JsonObject } from '../../src/base/json.ts'
import type { EventType, NewEvent } from '../../src/log/events.ts'

/** Few ids, so that events meet each other, and miss each other, in every way there is. */
const turnId = fc.constantFrom('t1', 't1', 't1', 't1', 't1', 't2', 't3')
const callId = fc.constantFrom('c1', 'c1', 'c2', 'c3')
const messageId = fc.constantFrom('m1', 'm2', 'm3')
const providerCallId = fc.constantFrom('p1', 'p1', 'p2', '', 'odd id \ud83d!')
const text = fc.constantFrom('hello', '', ' ', 'half a pair \ud83d', 'multi\nline')
const name = fc.constantFrom('refund', 'search', '', 'no such tool!', 'x'.repeat(200))
const who = fc.constantFrom('ann', 'system', '')
const small = fc.integer({ min: 1, max: 4 })
const value: fc.Arbitrary<Json> = fc.constantFrom<Json[]>(
  ...[null, true, false, 'yes', 'rerun', 'report', '', 0, -0, [], {}],
  ...[{ result: 1 }, { ok: true, result: 'done' }, { ok: false, error: 'no' }, { ok: false }, { reason: 'why' }],
  ...[{ usage: { inputTokens: 3 } }, { ok: true, result: null, usage: 'much' }],
)
const metadata = fc.constantFrom<JsonObject[]>({}, { openai: { itemId: 'i1' } }, { anthropic: { signature: 's' } })
const stateKey = fc.constantFrom('shown', 'hidden', '__proto__', '')
const expiresInMs = fc.constantFrom(null, 1, 60_000)
const image = { blob: 'ab'.repeat(32), mediaType: 'image/png', size: 3 }
const file = fc.record(
  {
    type: fc.constant('file' as const),
    mediaType: fc.constantFrom('image/png', 'text/plain', 'strange'),
    data: fc.constantFrom(image, 'https://example.com/a.png', ''),
    filename: text,
  },
  { requiredKeys: ['type', 'mediaType', 'data'] },
)
const textPart = fc.record(
  { type: fc.constant('text' as const), text, providerMetadata: metadata },
  { requiredKeys: ['type', 'text'] },
)
const userParts = fc.array(fc.oneof(textPart, file), { maxLength: 3 })
const kind = fc.constantFrom('approval', 'elicitation', 'client_exec', 'sub_agent', 'recovery')
const callResult = fc.oneof(
  fc.record({ ok: fc.constant(true as const), result: value }),
  fc.record({ ok: fc.constant(false as const), error: text }),
)
const outcome = fc.constantFrom({}, {}, { outcome: 'unknown' }, { outcome: 'ran' })

/** A model signs its reasoning as its own. */
const signatures: { readonly [provider: string]: JsonObject } = {
  'anthropic.messages': { anthropic: { signature: 's' } },
  'openai.responses': { openai: { itemId: 'i1' } },
  'google.generative-ai': {},
}

const assistantParts = (provider: string) =>
  fc.array(
    fc.oneof(
      { weight: 3, arbitrary: textPart },
      { weight: 1, arbitrary: file },
      {
        weight: 2,
        arbitrary: fc.record({
          type: fc.constant('reasoning'),
          text,
          providerMetadata: fc.constantFrom({}, signatures[provider]!),
        }),
      },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('source'), source: metadata }) },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('provider_call'), providerCallId, name, args: value }) },
      {
        weight: 1,
        arbitrary: fc.record({ type: fc.constant('provider_result'), providerCallId, name, result: value }),
      },
      { weight: 5, arbitrary: fc.record({ type: fc.constant('call'), callId, providerMetadata: metadata }) },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('plain_call'), providerCallId, name, args: value }) },
    ),
    { maxLength: 5 },
  )

const flowOp = fc.oneof(
  fc.record({ kind: fc.constant('suspend'), tag: value }),
  fc.record({ kind: fc.constant('request'), request: text, payload: value }),
  fc.record({ kind: fc.constant('step'), name, input: value, ifInterrupted: fc.constantFrom('rerun', 'report') }),
  fc.record({ kind: fc.constant('sleep'), ms: fc.nat() }),
  fc.record({ kind: fc.constant('agent'), agent: fc.constant('a'), id: fc.constantFrom(null, 'x'), message: text }),
  fc.record({ kind: fc.constantFrom('now', 'random', 'uuid') }),
)

/** Any content that its type allows, of every type there is. */
const contents: { readonly [Type in EventType]: fc.Arbitrary<unknown> } = {
  user_msg: fc.record(
    {
      turnId,
      message: fc.record({ parts: userParts }),
      options: fc.constantFrom({}, { maxSteps: 1 }, { untilTool: 'refund' }, { output: false }, { maxTokens: 1, x: 1 }),
      who,
      data: fc.constantFrom(null, 0, 'x', { page: '/', of: [1] }),
    },
    { requiredKeys: ['turnId', 'message', 'options', 'who'] },
  ),
  assistant_msg: fc.constantFrom(...Object.keys(signatures)).chain((provider) =>
    fc.record({
      turnId,
      messageId,
      seen: fc.nat({ max: 30 }),
      parts: assistantParts(provider),
      model: fc.constant({ provider, modelId: 'm' }),
      usage: fc.constantFrom({}, { inputTokens: 3, outputTokens: 4 }),
      finishReason: text,
      status: fc.constantFrom('complete', 'complete', 'complete', 'cancelled', 'failed'),
    }),
  ),
  tool_call: fc.record({
    turnId,
    callId,
    providerCallId,
    name,
    args: value,
    executor: fc.constantFrom('server', 'human', 'client', 'provider', 'agent'),
    gated: fc.boolean(),
    ifInterrupted: fc.constantFrom('report', 'rerun', 'ask'),
    timeoutMs: fc.constantFrom(null, 1),
    expiresInMs,
  }),
  tool_started: fc.record({ callId, attempt: small }),
  suspension: fc.record(
    {
      ...{ callId, round: small, kind, prompt: value, schema: value, expiresInMs },
      doneBefore: fc.record({ callId, outcome: fc.constantFrom('done', 'failed', 'unknown') }),
    },
    { requiredKeys: ['callId', 'round', 'kind', 'prompt', 'schema', 'expiresInMs'] },
  ),
  resolution: fc.record(
    {
      callId,
      round: small,
      kind,
      status: fc.constantFrom('resolved', 'resolved', 'denied', 'expired', 'cancelled'),
      value,
      who,
      edited: fc.record({ before: value, after: value }),
    },
    { requiredKeys: ['callId', 'round', 'kind', 'status', 'value', 'who'] },
  ),
  tool_result: fc.tuple(callId, callResult, outcome).map(([id, result, how]) => ({ callId: id, ...result, ...how })),
  injection: fc.record({
    turnId,
    step: fc.nat({ max: 3 }),
    hook: fc.constantFrom('memory', 'clock'),
    parts: userParts,
  }),
  regeneration: fc.record({ messageId, n: small, feedback: text }),
  withheld: fc.record({ messageId, hook: fc.constantFrom('guard', 'strict') }),
  attempt_discarded: fc.record({
    turnId,
    messageId,
    model: fc.constant({ provider: 'acme', modelId: 'm' }),
    usage: fc.constantFrom({}, { inputTokens: 3, outputTokens: 4 }),
    code: fc.constant('model_interrupted'),
  }),
  tool_asked: fc.record({ callId, round: small, state: value }),
  halted_by: fc.record({ callId, reason: fc.constantFrom('handed over', '') }),
  scope_missing: fc.record({ turnId, who, reason: text }),
  state_set: fc.record(
    {
      callId,
      patch: fc.record({
        set: fc.dictionary(stateKey, value, { maxKeys: 3 }),
        remove: fc.array(stateKey, { maxLength: 2 }),
      }),
      exposed: fc.constant(['shown', '__proto__']),
      who,
    },
    { requiredKeys: ['patch', 'exposed', 'who'] },
  ),
  state_refused: fc.record({ callId, reason: text }),
  cancel_requested: fc.record({ turnId, who }),
  superseded: fc.record({ fromSeq: fc.integer({ min: 1, max: 12 }), by: turnId }),
  turn_ended: fc.record({
    turnId,
    status: fc.constantFrom('completed', 'cancelled', 'failed', 'halted'),
    reason: fc.constantFrom(null, 'max_steps', ''),
  }),
  deadline_moved: fc.record({ callId, round: small, expiresInMs, who }),
  titled: fc.record({ title: text }),
  note: fc.record({ name: fc.constantFrom('read', 'rated'), data: value, who }),
  seeded: fc.record({ state: fc.oneof(value, fc.record({ title: text, messages: fc.constant([]) })) }),
  restored: fc.record({ version: small, seq: fc.nat(), through: fc.integer({ min: 2, max: 9 }) }),
  flow_started: fc.record({ flow: fc.constant('f'), version: text, input: value, who }),
  flow_opened: fc.record({ position: small, op: flowOp, asked: small }),
  flow_outcome: fc.oneof(
    fc.record({ position: small, ok: fc.constant(true), value }),
    fc.record({ position: small, ok: fc.constant(false), error: text }),
  ),
  flow_continued: fc.record({ version: text, input: value }),
  flow_ended: fc.oneof(
    fc.record({ status: fc.constant('done'), result: value }),
    fc.record({ status: fc.constant('failed'), error: text }),
  ),
}

const eventTypes = Object.keys(contents) as EventType[]

/** Most others are about what these make. */
const weights: { readonly [type: string]: number } = { assistant_msg: 8, tool_call: 8, flow_opened: 8, turn_ended: 1 }

function anyOf(types: readonly EventType[]): fc.Arbitrary<NewEvent> {
  return fc.oneof(
    ...types.map((type) => ({
      weight: weights[type] ?? 2,
      arbitrary: contents[type].map((content) => ({ type, content }) as unknown as NewEvent),
    })),
  )
}

const flowTypes = eventTypes.filter((type) => type.startsWith('flow_') || type === 'titled' || type === 'note')
const conversationTypes = eventTypes.filter((type) => !type.startsWith('flow_'))
const length = { maxLength: 40, size: 'max' as const }

/** Logs of conversations: any events, but mostly after a message, because most need a turn. */
export const anyConversation: fc.Arbitrary<NewEvent[]> = fc.oneof(
  fc.array(anyOf(conversationTypes), length),
  fc
    .tuple(anyOf(['user_msg']), fc.array(anyOf(conversationTypes.filter((type) => type !== 'turn_ended')), length))
    .map(([first, rest]) => [first, ...rest]),
)

/** Logs of sessions: any events, but mostly after a start. */
export const anySession: fc.Arbitrary<NewEvent[]> = fc
  .tuple(anyOf(['flow_started']), fc.array(anyOf(flowTypes), length))
  .map(([first, rest]) => [first, ...rest])

/** Everything, in any log. */
export const anyEvents: fc.Arbitrary<NewEvent[]> = fc.array(anyOf(eventTypes), length)
