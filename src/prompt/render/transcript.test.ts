import { expect, test } from 'vitest'
import { toolTurns } from '../../../test/context/tool-turns.ts'
import { called, ended, marked, replied, said, stateOf, succeeded } from '../../../test/log/story.ts'
import { toolResult, userMsg } from '../../log/validate-event.ts'
import { transcript } from './transcript.ts'

test('a transcript says who said what, and what tools were asked and gave', () => {
  const { turns } = stateOf([
    said('t1'),
    replied('t1', 'm1', 1, { calls: ['c1'] }),
    called('c1'),
    succeeded('c1'),
    replied('t1', 'm2', 4, { status: 'failed' }),
    ended('t1', 'failed'),
    said('t2'),
    marked('m3'),
    replied('t2', 'm3', 7),
    said('t3'),
  ])
  expect(transcript(turns).split('\n')).toEqual([
    'User: for t1',
    'Assistant: this is m1',
    'Tool refund({"cents":5}): {"ok":true,"result":"done"}',
    'Assistant: this is m2 [failed]',
    'User: for t2',
  ])
})

test.each([
  [20_000, 4_000],
  [4_000, 1_000],
  [1_000, 200],
  [200, 50],
])('within %i characters, %i are told of a long result', (maxCharacters, told) => {
  const result = toolResult({ callId: 'c1', ok: true, result: 'x'.repeat(9_000) })
  const { turns } = stateOf([said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1'), result])
  const text = transcript(turns, maxCharacters)
  expect(text.length).toBeLessThanOrEqual(maxCharacters)
  expect(/: (\{"ok".*)…$/.exec(text)?.[1]?.length).toBe(told)
})

test('a transcript that would be too long tells less of each piece, and all of them', () => {
  const { turns } = toolTurns(Array.from({ length: 10 }, () => ({ tokens: 2_000 })))
  expect(transcript(turns).length).toBeGreaterThan(40_000)
  const short = transcript(turns, 10_000)
  expect(short.length).toBeLessThanOrEqual(10_000)
  expect(short.match(/^Tool look/gm)).toHaveLength(10)
  expect(transcript(turns, 100)).toHaveLength(101)
})

test('of a long message four times as much is told as of a result', () => {
  const parts = [{ type: 'text' as const, text: 'y'.repeat(17_000) }]
  const asked = userMsg({ turnId: 't1', message: { parts }, options: {}, who: 'ann' })
  const lines = transcript(stateOf([asked, replied('t1', 'm1', 1, { parts })]).turns).split('\n')
  expect(lines.map((line) => /(y+)…$/.exec(line)?.[1]?.length)).toEqual([16_000, 16_000])
})
