import { expect, test } from 'vitest'
import { marked, replied, said, stateOf } from '../../../test/log/story.ts'
import { nothingLive } from '../../view/live-events.ts'
import { viewOf } from '../../view/view-of.ts'
import { chunksBetween } from './chunks-between.ts'
import type { UiChunk, UiStep, UiTurn } from './ui-turn.ts'
import { uiTurnOf } from './ui-turn-of.ts'

const text = (value: string, isDone: boolean) => ({ kind: 'text', key: 'text-0', text: value, isDone }) as const
const thought = (value: string, isDone: boolean) => ({ ...text(value, isDone), kind: 'reasoning' }) as const
const step = (messageId: string, ...parts: UiStep['parts']): UiStep => ({ messageId, parts })

function turnOf(steps: UiStep[], more: Partial<UiTurn> = {}): UiTurn {
  const standing = { status: 'running', reason: null, finishReason: 'stop' } as const
  return { turnId: 't1', steps, stepsBefore: 0, standing, progress: {}, childQuestions: [], ...more }
}

function between(before: UiTurn | null, after: UiTurn, isV7 = false): readonly UiChunk[] {
  return chunksBetween(before, after, { isV7 }).chunks
}

const typesOf = (chunks: readonly UiChunk[]) => chunks.map(({ type }) => type)

test('each step is begun and finished, and the message, too', () => {
  const standing = { status: 'completed', reason: null, finishReason: 'stop' } as const
  const turn = turnOf([step('m1', text('a', true)), step('m2', text('b', true))], { standing })
  expect(typesOf(between(null, turn))).toEqual([
    'start',
    ...['start-step', 'text-start', 'text-delta', 'text-end', 'finish-step'],
    ...['start-step', 'text-start', 'text-delta', 'text-end', 'finish-step'],
    'finish',
  ])
})

test('text that turns out other than it was shown is withdrawn; reasoning stays as it was shown', () => {
  const shown = (part: UiStep['parts'][number]) => turnOf([step('m1', part)])
  expect(between(shown(text('ab', false)), shown(text('abc', true)))).toEqual([
    { type: 'text-delta', id: 'm1:text-0', delta: 'c' },
    { type: 'text-end', id: 'm1:text-0' },
  ])
  expect(typesOf(between(shown(text('ab', false)), shown(text('xyz', true))))).toEqual(['text-end', 'error'])
  expect(typesOf(between(shown(thought('ab', false)), shown(thought('xyz', true))))).toEqual(['reasoning-end'])
})

test('clients of version 7 see the next message in the place of one that was withdrawn', () => {
  const [before, gone] = [turnOf([step('m1', text('ab', false))]), turnOf([])]
  const withdrawn = chunksBetween(before, gone, { isV7: true })
  expect(typesOf(withdrawn.chunks)).toEqual(['text-end', 'reset-step'])
  const next = turnOf([step('m2', text('c', false))])
  expect(typesOf(between(withdrawn.shown, next, true))).toEqual(['text-start', 'text-delta'])
  expect(typesOf(between(before, next, true))).toEqual(['text-end', 'reset-step', 'text-start', 'text-delta'])
  expect(chunksBetween(before, gone, { isV7: false })).toMatchObject({ chunks: [{}, { type: 'error' }], isOver: true })
})

test('all that was shown of a message that is withheld is withdrawn, also where it was only reasoning or a call', () => {
  const fileUrl = () => ''
  const pieces = [
    { type: 'text', part: 'text-0', text: 'It is' },
    { type: 'reasoning', part: 'reasoning-0', text: 'It must be' },
    { type: 'tool_input', part: 'c1', text: '{"cents":', name: 'refund' },
  ] as const
  const withheld = uiTurnOf(viewOf('c', stateOf([said('t1'), marked('m1'), replied('t1', 'm1', 1)])), 't1', fileUrl)
  for (const piece of pieces) {
    const drafts = [{ turnId: 't1', messageId: 'm1', n: 1, parts: [piece] }]
    const draft = uiTurnOf(viewOf('c', stateOf([said('t1')]), { ...nothingLive, drafts }), 't1', fileUrl)
    expect(typesOf(between(draft as UiTurn, withheld as UiTurn, true)).at(-1)).toBe('reset-step')
    expect(typesOf(between(draft as UiTurn, withheld as UiTurn)).at(-1)).toBe('error')
  }
})

test('progress is told when it changes, and not again with something else', () => {
  const first = turnOf([], { progress: { c1: 1 } })
  const second = turnOf([], { progress: { c1: 1, c2: 'half' } })
  expect(between(first, second)).toEqual([
    { type: 'data-progress', id: 'c2', data: { callId: 'c2', progress: 'half' }, transient: true },
  ])
})

test('steps that a long turn is shown without are neither withdrawn nor begun again', () => {
  const steps = ['m1', 'm2', 'm3'].map((messageId) => step(messageId, text(messageId, true)))
  const before = turnOf(steps)
  const after = turnOf([...steps.slice(1), step('m4', text('m4', true))], { stepsBefore: 1 })
  expect(typesOf(between(before, after))).toEqual(['finish-step', 'start-step', 'text-start', 'text-delta', 'text-end'])
  const farther = turnOf([step('m9', text('m9', true))], { stepsBefore: 8 })
  expect(typesOf(between(before, farther))).toEqual([
    'finish-step',
    'start-step',
    'text-start',
    'text-delta',
    'text-end',
  ])
})

test('what is shown whole stays so when only its beginning is left; who comes anew is told', () => {
  const before = turnOf([step('m1', text('a long text', true))])
  const after = turnOf([{ ...step('m1', text('a lo…', true)), isAbridged: true }])
  expect(between(before, after)).toEqual([])
  expect(between(null, after)[0]).toMatchObject({ type: 'start', messageMetadata: { leftOut: true } })
})
