import { describe, expect, test } from 'vitest'
import { type ToolTurn, toolTurns } from '../../../test/context/tool-turns.ts'
import type { Retention } from '../../define/tool.ts'
import { stubbedCalls } from './reduce.ts'

const turns = (...tools: string[]): ToolTurn[] => tools.map((tool) => ({ tool }))
const open = (...tools: string[]): ToolTurn[] => tools.map((tool, n) => ({ tool, isOpen: n === tools.length - 1 }))

describe('retention', () => {
  test.each<[string, ToolTurn[], Retention, string[]]>([
    ['by age keeps the results of the last turns', turns('a', 'a', 'a', 'a'), { mode: 'age', value: 2 }, ['c1', 'c2']],
    ['by age counts turns, not results of the tool', turns('a', 'b', 'b'), { mode: 'age', value: 2 }, ['c1']],
    ['by age 0 keeps the newest turn', turns('a', 'a'), { mode: 'age', value: 0 }, ['c1']],
    ['by age keeps everything that is young', turns('a', 'a'), { mode: 'age', value: 6 }, []],
    [
      'by count keeps the newest of each tool',
      turns('a', 'b', 'a', 'b', 'a'),
      { mode: 'count', value: 1 },
      ['c1', 'c2', 'c3'],
    ],
    ['by count keeps what there are not more of', turns('a', 'b'), { mode: 'count', value: 1 }, []],
    ['by count 0 keeps what the model has not read yet', open('a', 'a'), { mode: 'count', value: 0 }, ['c1']],
    ['never keeps everything', turns('a', 'a', 'a'), 'never', []],
  ])('%s', (_, given, retention, stubbed) => {
    expect([...stubbedCalls(toolTurns(given).turns, () => retention).keys()].toSorted()).toEqual(stubbed)
  })

  test('of a tool overrides that of the agent', () => {
    const of = (tool: string): Retention => (tool === 'a' ? 'never' : { mode: 'age', value: 1 })
    expect([...stubbedCalls(toolTurns(turns('a', 'b', 'a', 'b')).turns, of).keys()]).toEqual(['c2'])
  })

  test('tells why', () => {
    const { turns: given } = toolTurns(turns('a', 'a', 'b'))
    expect([...stubbedCalls(given, () => ({ mode: 'age', value: 2 }))]).toEqual([
      ['c1', "it is 2 turns old; the retention of 'a' is 2 turns"],
    ])
    expect([...stubbedCalls(given, () => ({ mode: 'count', value: 1 }))]).toEqual([
      ['c1', "there are 1 newer results of 'a'; its retention is 1"],
    ])
  })

  test('does not stub a call that has not ended', () => {
    const { turns: given } = toolTurns([{ isOpen: true }])
    const unended = given.map((turn) => ({ ...turn, calls: turn.calls.map((call) => ({ ...call, result: null })) }))
    expect(stubbedCalls(unended, () => ({ mode: 'count', value: 0 })).size).toBe(0)
  })
})
