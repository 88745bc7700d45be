import { expect, test } from 'vitest'
import { placed, replied, said } from '../../../test/log/story.ts'
import { emptyState } from '../../log/state.ts'
import type { SignedFiles } from '../../runtime/signed-files.ts'
import { projectView, type WatchEvent } from '../../view/growing-view.ts'
import type { View } from '../../view/view.ts'
import { viewOf } from '../../view/view-of.ts'
import type { UiTurn } from './ui-turn.ts'
import { UiTurns } from './ui-turns.ts'

const [question, answer] = placed([said('t1'), replied('t1', 'm1', 1)])
const delta = (n: number): WatchEvent => ({
  type: 'text_delta',
  conversationId: 'story',
  seq: 1,
  turnId: 't1',
  messageId: 'm1',
  n,
  part: 'text-0',
  delta: ['this ', 'is ', 'm1'][n - 1]!,
})

const files: SignedFiles = {
  window: () => 1,
  sign: ({ tenant, id }, blob) => `${tenant}:${id}:${blob}`,
  isSigned: () => false,
  open: async () => null,
}

function viewsOf(events: readonly WatchEvent[]): View[] {
  const views = [viewOf('story', emptyState)]
  for (const event of events) views.push(projectView(views.at(-1)!, event))
  return views.slice(1)
}

test('what clients need that show the same is worked out and written once, also for those that join together', () => {
  const turns = new UiTurns('', files)
  const [asked, first, second] = viewsOf([question!, delta(1), delta(2)]).map(
    (view) => turns.of(view, 't1', 'default') as UiTurn,
  )
  const joined = turns.frame(null, asked!, false)
  expect(turns.frame(null, asked!, false)).toBe(joined)
  const grown = turns.frame(joined.shown, first!, false)
  expect(turns.frame(joined.shown, first!, false)).toBe(grown)
  // Who joins later is where the others are.
  const late = turns.frame(null, first!, false)
  expect(late.shown).toBe(grown.shown)
  expect(turns.frame(late.shown, second!, false)).toBe(turns.frame(grown.shown, second!, false))
  expect(turns.frame(grown.shown, second!, true)).not.toBe(turns.frame(grown.shown, second!, false))
})

test('a delta costs its own length, not that of the message', () => {
  const turns = new UiTurns('', files)
  const shown = viewsOf([question!, delta(1), delta(2), delta(3), answer!]).map(
    (view) => turns.of(view, 't1', 'default') as UiTurn,
  )
  const sent = shown.map((turn, index) => {
    const { bytes } = turns.frame(shown[index - 1] ?? null, turn, false)
    return new TextDecoder().decode(bytes)
  })
  expect(sent[2]).toBe('data: {"type":"text-delta","id":"m1:text-0","delta":"is "}\n\n')
  expect(sent[4]).toBe('data: {"type":"text-end","id":"m1:text-0"}\n\n')
})

test('the address of a file is below where the server is mounted, and stays until addresses expire later', () => {
  let window = 1
  const turns = new UiTurns('/api/agents', { ...files, window: () => window })
  const fileUrl = turns.fileUrlOf('acme')
  expect(fileUrl('a/b', 'f00')).toBe('/api/agents/conversations/a%2Fb/files/f00?signed=acme:a/b:f00')
  expect(turns.fileUrlOf('acme')).toBe(fileUrl)
  expect(turns.fileUrlOf('other')).not.toBe(fileUrl)
  window = 2
  expect(turns.fileUrlOf('acme')).not.toBe(fileUrl)
})
