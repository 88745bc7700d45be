import { expect, test } from 'vitest'
import { called, replied, said, stateOf, suspended } from '../../../test/log/story.ts'
import type { Json } from '../../base/json.ts'
import { viewOf } from '../../view/view-of.ts'
import { coloursOf, safely } from '../terminal/text.ts'
import { pendingLines } from './pending-lines.ts'

function shown(prompt: Json, args: Json): string[] {
  const view = viewOf(
    'story',
    stateOf([
      said('t1'),
      replied('t1', 'm1', 1, { calls: ['c1'] }),
      called('c1', { gated: true, args }),
      suspended('c1', 'approval', { prompt }),
    ]),
  )
  return pendingLines(view.pending[0]!, view, { colours: coloursOf(false), isFull: false }).map(safely)
}

test('a person who approves is shown all of the arguments', () => {
  const note = 'x'.repeat(5_000)
  expect(shown('Pay?', { note })).toEqual(['  ? refund needs approval: Pay?', `    arguments: {"note":"${note}"}`])
})

test('a prompt cannot pass for a line of the chat', () => {
  expect(shown('Pay?\n    arguments: {"cents":1}', { cents: 500 })).toEqual([
    '  ? refund needs approval: Pay?',
    '    │     arguments: {"cents":1}',
    '    arguments: {"cents":500}',
  ])
})
