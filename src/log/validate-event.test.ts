import { describe, expect, test } from 'vitest'
import { EventInvalidError, EventUnknownError } from '../base/errors/log-errors.ts'
import type { EventContents, EventType, NewEvent } from './events.ts'
import * as log from './validate-event.ts'

const image = { blob: 'ab'.repeat(32), mediaType: 'image/png', size: 3 }

/** One event of each type, with every field it can have. */
const full: { readonly [Type in EventType]: EventContents[Type] } = {
  user_msg: {
    turnId: 't1',
    message: {
      parts: [
        { type: 'text', text: 'hi' },
        { type: 'file', mediaType: 'image/png', data: image, filename: 'a.png' },
        { type: 'file', mediaType: 'image/png', data: 'https://example.com/a.png' },
      ],
    },
    options: { maxSteps: 3, maxTokens: 9, maxParallelCalls: 2, untilTool: 'submit', output: false, temperature: 0 },
    who: 'ann',
    key: 'msg-1',
    restoredAt: 5,
  },
  assistant_msg: {
    turnId: 't1',
    messageId: 'm1',
    seen: 1,
    parts: [
      { type: 'text', text: 'hm', providerMetadata: { p: { cached: true } } },
      { type: 'reasoning', text: 'well' },
      { type: 'source', source: { url: 'https://example.com' } },
      { type: 'file', mediaType: 'image/png', data: image },
      { type: 'provider_call', providerCallId: 'p1', name: 'search', args: {} },
      { type: 'provider_result', providerCallId: 'p1', name: 'search', result: [], isError: false },
      { type: 'call', callId: 'c1' },
      { type: 'plain_call', providerCallId: 'p2', name: 'refund', args: null },
    ],
    model: { provider: 'test', modelId: 'one' },
    usage: { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, reasoningTokens: 5 },
    finishReason: 'stop',
    status: 'complete',
    object: null,
    restoredAt: 6,
  },
  tool_call: {
    turnId: 't1',
    callId: 'c1',
    providerCallId: 'p1',
    name: 'refund',
    args: { cents: 5 },
    executor: 'server',
    gated: true,
    ifInterrupted: 'ask',
    timeoutMs: 1_000,
    expiresInMs: null,
    prompt: 'Refund?',
    schema: true,
    restoredFrom: 'c0',
  },
  tool_started: { callId: 'c1', attempt: 1 },
  suspension: { callId: 'c1', round: 1, kind: 'approval', prompt: null, schema: true, expiresInMs: 60_000 },
  resolution: {
    callId: 'c1',
    round: 1,
    kind: 'approval',
    status: 'resolved',
    value: true,
    who: 'ann',
    edited: { before: 1, after: 2 },
  },
  deadline_moved: { callId: 'c1', round: 1, expiresInMs: null, who: 'ann' },
  tool_result: { callId: 'c1', ok: false, error: 'broke', outcome: 'unknown' },
  injection: { turnId: 't1', step: 0, hook: 'memory', parts: [{ type: 'text', text: 'she likes tea' }] },
  regeneration: { messageId: 'm1', n: 1, feedback: '' },
  withheld: { messageId: 'm1', hook: 'guard' },
  attempt_discarded: {
    turnId: 't1',
    messageId: 'm2',
    model: { provider: 'acme', modelId: 'm' },
    usage: { inputTokens: 7 },
    code: 'model_interrupted',
  },
  tool_asked: { callId: 'c1', round: 1, state: { step: 2 } },
  halted_by: { callId: 'c1', reason: 'handed over' },
  scope_missing: { turnId: 't1', who: 'ann', reason: 'the directory is down' },
  state_set: { callId: 'c1', patch: { set: { todos: [] }, remove: ['draft'] }, exposed: ['todos'], who: 'ann' },
  state_refused: { callId: 'c1', reason: 'todos must be a list' },
  cancel_requested: { turnId: 't1', who: 'ann' },
  superseded: { fromSeq: 3, by: 't2' },
  turn_ended: { turnId: 't1', status: 'completed', reason: null },
  titled: { title: 'Refunds' },
  note: { name: 'rated', data: { stars: 5 }, who: 'ann' },
  seeded: { state: null },
  restored: { version: 3, seq: 9, through: 4 },
  flow_started: { flow: 'onboarding', version: '1', input: null, who: 'ann' },
  flow_opened: { position: 1, op: { kind: 'now' }, asked: 1 },
  flow_outcome: { position: 1, ok: true, value: 7 },
  flow_continued: { version: '1', input: null },
  flow_ended: { status: 'done', result: null },
}

const constructorOf: { readonly [Type in EventType]: (content: EventContents[Type]) => NewEvent } = {
  user_msg: log.userMsg,
  assistant_msg: log.assistantMsg,
  tool_call: log.toolCall,
  tool_started: log.toolStarted,
  suspension: log.suspension,
  resolution: log.resolution,
  deadline_moved: log.deadlineMoved,
  tool_result: log.toolResult,
  injection: log.injection,
  regeneration: log.regeneration,
  withheld: log.withheld,
  attempt_discarded: log.attemptDiscarded,
  tool_asked: log.toolAsked,
  halted_by: log.haltedBy,
  scope_missing: log.scopeMissing,
  state_set: log.stateSet,
  state_refused: log.stateRefused,
  cancel_requested: log.cancelRequested,
  superseded: log.superseded,
  turn_ended: log.turnEnded,
  titled: log.titled,
  note: log.note,
  seeded: log.seeded,
  restored: log.restored,
  flow_started: log.flowStarted,
  flow_opened: log.flowOpened,
  flow_outcome: log.flowOutcome,
  flow_continued: log.flowContinued,
  flow_ended: log.flowEnded,
}

const types = Object.keys(full) as EventType[]
const build = constructorOf as Record<EventType, (content: unknown) => NewEvent>

test('there is one constructor per event type', () => {
  expect(new Set(Object.values(constructorOf)).size).toBe(types.length)
})

describe.each(types)('%s', (type) => {
  test('is built from its content', () => {
    expect(build[type](full[type])).toEqual({ type, content: full[type] })
  })

  test.each([undefined, null, 'text', 7, []])('is refused with the content %s', (content) => {
    expect(() => build[type](content)).toThrow("'content' must be an object")
  })
})

describe('a field that is missing is named', () => {
  const optional = new Set([
    'key',
    'object',
    'prompt',
    'schema',
    'outcome',
    'edited',
    'suspension.prompt',
    'restoredAt',
    'restoredFrom',
  ])
  const isOptional = (type: EventType, field: string) =>
    optional.has(field) || (type === 'state_set' && field === 'callId')
  const fields = types.flatMap((type) => Object.keys(full[type]).map((field) => [type, field] as const))
  const required = fields.filter(([type, field]) => !isOptional(type, field))

  test.each([...required, ['suspension', 'prompt'], ['suspension', 'schema']] as const)('%s %s', (type, field) => {
    const { [field]: _, ...rest } = full[type] as unknown as Record<string, unknown>
    expect(() => build[type](rest)).toThrow(EventInvalidError)
    expect(() => build[type](rest)).toThrow(`An event of type '${type}' is not valid: 'content.${field}' must be`)
  })
})

describe('an invalid value is named with its path', () => {
  test.each<[EventType, object, string]>([
    ['user_msg', { turnId: '' }, "'content.turnId' must be a string that is not empty, not ''"],
    ['user_msg', { message: { parts: 'hi' } }, "'content.message.parts' must be a list, not 'hi'"],
    [
      'user_msg',
      { message: { parts: [{ type: 'text' }] } },
      "'content.message.parts[0].text' must be a string, not missing",
    ],
    [
      'user_msg',
      { message: { parts: [{ type: 'video' }] } },
      "'content.message.parts[0].type' must be one of text, file, not 'video'",
    ],
    [
      'user_msg',
      { message: { parts: [{ type: 'file', mediaType: 'a/b', data: { blob: 'x' } }] } },
      "'content.message.parts[0].data' must be a blob ref or a URL",
    ],
    [
      'user_msg',
      { options: { maxSteps: 0 } },
      "'content.options.maxSteps' must be a whole number of at least 1, not 0",
    ],
    ['user_msg', { options: { maxParallelCalls: 0 } }, "'content.options.maxParallelCalls' must be"],
    ['user_msg', { options: { output: true } }, "'content.options.output' must be an object, not true"],
    ['assistant_msg', { seen: -1 }, "'content.seen' must be a whole number of at least 0, not -1"],
    ['assistant_msg', { parts: [{ type: 'call' }] }, "'content.parts[0].callId' must be"],
    ['assistant_msg', { parts: [{ type: 'toString' }] }, "'content.parts[0].type' must be one of"],
    ['assistant_msg', { usage: { inputTokens: 1.5 } }, "'content.usage.inputTokens' must be a whole number"],
    ['assistant_msg', { status: 'done' }, "'content.status' must be one of complete, cancelled, failed, not 'done'"],
    ['tool_call', { executor: 'robot' }, "'content.executor' must be one of"],
    ['tool_call', { gated: 'yes' }, "'content.gated' must be one of true, false, not 'yes'"],
    ['tool_call', { timeoutMs: 0 }, "'content.timeoutMs' must be a whole number of at least 1, not 0"],
    ['tool_started', { attempt: 0 }, "'content.attempt' must be"],
    ['suspension', { kind: 'question' }, "'content.kind' must be one of"],
    ['resolution', { round: 0 }, "'content.round' must be"],
    ['resolution', { edited: 1 }, "'content.edited' must be an object, not 1"],
    ['resolution', { edited: { after: 1 } }, "'content.edited.before' must be JSON, not missing"],
    ['resolution', { edited: { before: 1 } }, "'content.edited.after' must be JSON, not missing"],
    ['tool_result', { ok: 'true', result: 1 }, "'content.ok' must be one of true, not 'true'"],
    ['tool_result', { ok: true }, "'content.result' must be JSON, not missing"],
    ['deadline_moved', { round: 0 }, "'content.round' must be a whole number of at least 1, not 0"],
    ['deadline_moved', { expiresInMs: 0 }, "'content.expiresInMs' must be a whole number of at least 1, not 0"],
    ['deadline_moved', { expiresInMs: '5' }, "'content.expiresInMs' must be"],
    ['note', { name: '' }, "'content.name' must be a string that is not empty, not ''"],
    ['note', { data: undefined }, "'content.data' must be JSON, not missing"],
    ['state_set', { callId: '' }, "'content.callId' must be a string that is not empty, not ''"],
    ['state_set', { patch: { set: [], remove: [] } }, "'content.patch.set' must be an object, not a list"],
    ['state_set', { patch: { set: {} } }, "'content.patch.remove' must be a list, not missing"],
    ['state_set', { exposed: [1] }, "'content.exposed[0]' must be a string, not 1"],
    ['user_msg', { restoredAt: -1 }, "'content.restoredAt' must be a whole number of at least 0, not -1"],
    ['assistant_msg', { restoredAt: 'now' }, "'content.restoredAt' must be a whole number"],
    ['tool_call', { restoredFrom: '' }, "'content.restoredFrom' must be a string that is not empty"],
    ['restored', { through: 1 }, "'content.through' must be a whole number of at least 2, not 1"],
    ['turn_ended', { reason: 7 }, "'content.reason' must be a string, not 7"],
  ])('%s %j', (type, change, problem) => {
    expect(() => build[type]({ ...full[type], ...change })).toThrow(problem)
  })
})

test('fields that a newer version may have added are let through', () => {
  const event = { type: 'titled', content: { title: 'Refunds', emoji: ':money:' } } as const
  expect(log.validateEvent(event)).toBe(event)
})

test.each(['teleported', '__proto__', 'toString', ''])('the type %j is unknown', (type) => {
  const event = { type, content: {} } as unknown as NewEvent
  expect(() => log.validateEvent(event)).toThrow(EventUnknownError)
})

test('an event with a place in a log is named by it', () => {
  const place = { conversationId: 'ticket-42', seq: 7, at: 0 }
  expect(() => log.validateEvent({ ...place, type: 'titled', content: {} } as unknown as NewEvent)).toThrow(
    "Event 7 (titled) of 'ticket-42' cannot be folded: 'content.title' must be a string, not missing",
  )
})
