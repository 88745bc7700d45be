import { expect, test } from 'vitest'
import {
  called,
  ended,
  failed,
  marked,
  replied,
  resolved,
  said,
  started,
  stateOf,
  suspended,
} from '../../../test/log/story.ts'
import type { NewEvent } from '../../log/events.ts'
import { nothingLive } from '../../view/live-events.ts'
import type { Draft, View } from '../../view/view.ts'
import { viewOf } from '../../view/view-of.ts'
import { coloursOf, safely } from '../terminal/text.ts'
import { type Paper, Transcript } from './transcript.ts'

function paper(): Paper & { readonly text: () => string } {
  const lines: string[] = []
  let open = ''
  const closeLine = (): void => {
    if (open !== '') lines.push(open)
    open = ''
  }
  return {
    colours: coloursOf(false),
    print: (...added) => {
      closeLine()
      lines.push(...added.map(safely))
    },
    append: (text) => {
      open += safely(text)
    },
    closeLine,
    text: () => [...lines, open].filter((text) => text !== '').join('\n'),
  }
}

function shown(...views: readonly View[]): string {
  const written = paper()
  const transcript = new Transcript(written, { agent: 'clerk', isOwn: () => true })
  for (const view of views) transcript.update(view)
  return written.text()
}

function view(events: readonly NewEvent[], drafts: readonly Draft[] = []): View {
  return viewOf('story', stateOf([...events]), { ...nothingLive, drafts })
}

function draft(...texts: readonly string[]): Draft {
  const parts = texts.map((text, index) => ({ type: 'text' as const, part: String(index), text }))
  return { turnId: 't1', messageId: 'm1', n: 1, parts }
}

const asked = [said('t1')]
const answer = replied('t1', 'm1', 1)
const answerText = view([...asked, answer])
  .messages[1]!.parts.map((part) => ('text' in part ? part.text : ''))
  .join('')

test('a message is the same whether it was streamed or not', () => {
  const whole = shown(view([...asked, answer]))
  const half = answerText.slice(0, 2)
  expect(
    shown(view(asked), view(asked, [draft(half)]), view(asked, [draft(answerText)]), view([...asked, answer])),
  ).toBe(whole)
  expect(whole).toContain(`clerk › ${answerText}`)
})

test('the same view again adds nothing', () => {
  const events = [...asked, answer, ended('t1')]
  expect(shown(view(events), view(events))).toBe(shown(view(events)))
})

test('an answer that was cut off at its length, or filtered, is said to be', () => {
  const cut = (finishReason: string) => shown(view([...asked, replied('t1', 'm1', 1, { finishReason }), ended('t1')]))
  expect(cut('length')).toContain('(this message was cut off at its length limit)')
  expect(cut('content-filter')).toContain("(this message was cut off by the provider's content filter)")
  expect(cut('stop')).not.toContain('cut off')
})

test('what is withdrawn is said to be', () => {
  expect(shown(view(asked, [draft('Half a')]), view(asked))).toMatch(/Half a\n.*withdrawn/)
})

test('a text that was changed when it was finished is written anew', () => {
  expect(shown(view(asked, [draft('Something else')]), view([...asked, answer]))).toMatch(
    new RegExp(`Something else\n.*differs.*\nclerk › ${answerText}`),
  )
})

test('a queued message comes when its turn does', () => {
  const queued = view([said('t1'), said('t2')])
  expect(shown(queued).match(/you ›/g)).toHaveLength(1)
  expect(shown(queued, view([said('t1'), said('t2'), answer, ended('t1')])).match(/you ›/g)).toHaveLength(2)
})

test('a call is told with who answered and how it ended, each once', () => {
  const calling = [...asked, replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { gated: true })]
  const waiting = [...calling, suspended('c1', 'approval', {})]
  const approved = [...waiting, resolved('c1', 'approval', 'resolved', { value: true })]
  const interrupted = [...approved, started('c1'), failed('c1', 'it may have run', 'unknown')]
  const text = shown(view(calling), view(waiting), view(approved), view(interrupted))
  expect(text.split('\n').slice(-5)).toEqual([
    expect.stringContaining('▸ refund'),
    expect.stringContaining('? refund needs approval'),
    '    arguments: {"cents":5}',
    expect.stringMatching(/approved by \w+/),
    '  ? refund: it may have run',
  ])
})

test('of a long conversation only the end is written, and where the rest is', () => {
  const turns = Array.from({ length: 25 }, (_, index) => [said(`t${index}`), ended(`t${index}`)])
  const text = shown(view(turns.flat()))
  expect(text.match(/you ›/g)).toHaveLength(20)
  expect(text).toContain('(5 earlier turns: npm run -s perdure -- show story)')
})

test('what has begun and ended since the first look is written down, however much is left out of what was before', () => {
  const written = paper()
  const transcript = new Transcript(written, { agent: 'clerk', earlierTurns: 0 })
  transcript.update(view([]))
  transcript.update(view([...asked, answer, ended('t1')]))
  expect(written.text()).toContain(`clerk › ${answerText}`)
  const late = paper()
  new Transcript(late, { agent: 'clerk', earlierTurns: 0 }).update(view([...asked, answer, ended('t1')]))
  expect(late.text()).toBe('')
})

test('a message that is withheld is not shown, and what was printed of it is said to be withdrawn', () => {
  const withheld = view([...asked, marked('m1'), answer, ended('t1', 'halted', 'no')])
  expect(shown(withheld)).not.toContain(answerText)
  const streamed = shown(view(asked), view(asked, [draft(answerText)]), withheld)
  expect(streamed).toContain('(withdrawn: the text above is not part of the conversation)')
  expect(streamed.split(answerText)).toHaveLength(2)
})

test('a transcript that begins after an event leaves out what came before it, also within a turn', () => {
  const calling = [...asked, replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { gated: true })]
  const answered = [
    ...calling,
    suspended('c1', 'approval', {}),
    resolved('c1', 'approval', 'resolved', { value: true }),
  ]
  const written = paper()
  new Transcript(written, { agent: 'clerk', after: calling.length }).update(
    view([...answered, ended('t1', 'cancelled')]),
  )
  expect(written.text()).toMatch(/^ {4}approved by \w+\n {2}the turn was cancelled$/)
})

test('a transcript for operators also has turns that completed, progress, and withheld messages', () => {
  const written = paper()
  const transcript = new Transcript(written, { agent: 'clerk', tellsAll: true })
  const running = view([...asked, replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1'), started('c1')])
  transcript.update({ ...running, progress: { c1: 'half' } })
  transcript.update({ ...running, progress: { c1: 'half' } })
  expect(written.text().match(/refund: "half"/g)).toHaveLength(1)
  const all = paper()
  new Transcript(all, { agent: 'clerk', tellsAll: true }).update(view([...asked, marked('m1'), answer, ended('t1')]))
  expect(all.text()).toMatch(/withheld: the hook '.*' did not pass it\)\n {2}the turn was completed$/)
})
