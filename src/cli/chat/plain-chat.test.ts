import { expect, test } from 'vitest'
import { ended, replied, said, stateOf } from '../../../test/log/story.ts'
import { emptyState } from '../../log/state.ts'
import type { WatchEvent } from '../../view/growing-view.ts'
import { viewOf } from '../../view/view-of.ts'
import type { ChatPort } from './chat-port.ts'
import { PlainChat } from './plain-chat.ts'
import { type Paper, Transcript } from './transcript.ts'

test('a turn that ends before the first look could be taken is shown', async () => {
  const written: string[] = []
  const paper: Paper = {
    print: (...lines) => void written.push(...lines.map((line) => line.map(({ text }) => text).join(''))),
    append: (...spans) => void written.push(...spans.map(({ text }) => text)),
    closeLine: () => {},
  }
  let log = emptyState
  const hasSent = Promise.withResolvers<void>()
  const snapshot = (): WatchEvent => ({ type: 'snapshot', view: viewOf('story', log) })
  const port = {
    async send() {
      log = stateOf([said('t1'), replied('t1', 'm1', 1), ended('t1')])
      hasSent.resolve()
      return 't1'
    },
    async *watch() {
      // As over a network: what is sent meanwhile is faster.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      yield snapshot()
      await hasSent.promise
      yield snapshot()
    },
  } as Partial<ChatPort> as ChatPort
  const chat = new PlainChat(port, paper, new Transcript(paper, { agent: 'clerk', who: null, earlierTurns: 0 }))
  await chat.say('hello')
  await chat.end()
  expect(written.join('')).toContain('clerk › ')
})
