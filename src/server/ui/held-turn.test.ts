import { describe, expect, test } from 'vitest'
import { chunksBetween } from './chunks-between.ts'
import type { ClientMessage, ClientPart } from './client-message.ts'
import { heldTurn } from './ui-stream.ts'
import type { UiCall, UiStep, UiTurn } from './ui-turn.ts'

const text = (value: string, isDone = true) => ({ kind: 'text', key: 'text-0', text: value, isDone }) as const
const call = (stage: UiCall['stage'], more: Partial<UiCall> = {}): UiCall => ({
  kind: 'call',
  key: 'c1',
  name: 'refund',
  input: { cents: 5 },
  stage,
  approval: null,
  isForPage: false,
  isProviderRun: false,
  ...more,
})

function turnOf(...steps: UiStep['parts'][]): UiTurn {
  const shown = steps.map((parts, index) => ({ messageId: `m${index + 1}`, parts }))
  const standing = { status: 'running', reason: null, finishReason: 'stop' } as const
  return { turnId: 't1', steps: shown, stepsBefore: 0, standing, progress: {}, childQuestions: [] }
}

const held = (...parts: ClientPart[]): ClientMessage => ({ id: 't1', role: 'assistant', parts })
const step = { type: 'step-start' }
const tool = (state: string, more = {}): ClientPart => ({
  type: 'tool-refund',
  toolCallId: 'c1',
  state,
  input: { cents: 5 },
  ...more,
})

/** What a page is sent that shows this, after the `start`. */
function sent(message: ClientMessage, truth: UiTurn): string[] | null {
  const known = heldTurn(message, truth)
  const types = known && chunksBetween(known, truth, { isV7: false, isFirst: true }).chunks.map(({ type }) => type)
  return types?.slice(1) ?? null
}

describe('a page is sent', () => {
  const done = call({ type: 'output', output: 1 })
  const asked = { id: 'c1:1', approved: null }
  const approved = { id: 'c1:1', approved: true }
  const cases: [string, ClientMessage, UiTurn, string[] | null][] = [
    ['nothing that it has', held(step, { type: 'text', text: 'a' }), turnOf([text('a')]), []],
    [
      'the steps after those it has',
      held(step, { type: 'text', text: 'a' }),
      turnOf([text('a')], [text('b')]),
      ['finish-step', 'start-step', 'text-start', 'text-delta', 'text-end'],
    ],
    [
      'what its last step lacks',
      held(step, { type: 'text', text: 'a' }),
      turnOf([text('a'), done]),
      ['tool-input-available', 'tool-output-available'],
    ],
    ['anew what an earlier step lacks', held(step, step, tool('output-available')), turnOf([text('a')], [done]), null],
    ['anew what is still being written', held(step, { type: 'text', text: 'a' }), turnOf([text('a', false)]), null],
    ['anew where it shows other words', held(step, { type: 'text', text: 'b' }), turnOf([text('a')]), null],
    [
      'anew where it shows more',
      held(step, { type: 'text', text: 'a' }, tool('output-denied')),
      turnOf([text('a')]),
      null,
    ],
    ['anew where it shows more steps', held(step, step), turnOf([]), null],
    [
      'the output of a call that it has',
      held(step, tool('input-available')),
      turnOf([done]),
      ['tool-output-available'],
    ],
    ['the true output', held(step, tool('output-available', { output: 2 })), turnOf([done]), ['tool-output-available']],
    [
      'the question again, where it claims an answer that was not taken',
      held(step, tool('approval-responded', { approval: approved })),
      turnOf([call({ type: 'asked' }, { approval: asked })]),
      ['tool-approval-request'],
    ],
    [
      'nothing where its approval was taken',
      held(step, tool('approval-responded', { approval: approved })),
      turnOf([call({ type: 'ready' }, { approval: approved })]),
      [],
    ],
    [
      'nothing yet where a tool of its own was approved',
      held(step, tool('approval-responded', { approval: approved })),
      turnOf([call({ type: 'held' }, { approval: approved, isForPage: true })]),
      [],
    ],
    [
      'its own tool to run, once that was approved',
      held(step, tool('approval-responded', { approval: approved })),
      turnOf([call({ type: 'awaited' }, { approval: approved, isForPage: true })]),
      ['tool-input-available'],
    ],
    [
      'that another person approved what it denied',
      held(step, tool('approval-responded', { approval: { id: 'c1:1', approved: false } })),
      turnOf([call({ type: 'ready' }, { approval: approved })]),
      ['tool-approval-request', 'tool-input-available'],
    ],
  ]
  test.each(cases)('%s', (_, message, truth, expected) => {
    expect(sent(message, truth)).toEqual(expected)
  })
})
