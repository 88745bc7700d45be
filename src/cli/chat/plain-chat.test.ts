import { expect, test } from 'vitest'
import { ended, replied, said, stateOf } from '../../../test/log/story.ts'
import { emptyState } from '../../log/state.ts'
import { viewOf } from '../../view/view-of.ts'
import { coloursOf, safely } from '../terminal/text.ts'
import { type Paper, Transcript } from '../transcript/transcript.ts'
import type { ChatPort } from './chat-port.ts'
import { PlainChat } from './plain-chat.ts'

test('a turn that ends before the first look could be taken is shown', async () => {
  const written: string[] = []
  const paper: Paper = {
    colours: coloursOf(false),
    print: (...lines) => void written.push(...lines.map(safely)),
    append: (text) => void written.push(safely(text)),
    closeLine: () => {},
  }
  let log = emptyState
  const hasSent = Promise.withResolvers<void>()
  const view = () => viewOf('story', log)
  const port = {
    async send() {
      log = stateOf([said('t1'), replied('t1', 'm1', 1), ended('t1')])
      hasSent.resolve()
      return 't1'
    },
    async *views() {
      // As over a network: what is sent meanwhile is faster.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      yield view()
      await hasSent.promise
      yield view()
    },
  } as Partial<ChatPort> as ChatPort
  const chat = new PlainChat(port, paper, new Transcript(paper, { agent: 'clerk', earlierTurns: 0 }))
  await chat.say('hello')
  await chat.end()
  expect(written.join('')).toContain('clerk › ')
})

test('an error in the drawing of a view is thrown to the caller that waits', async () => {
  const paper: Paper = { colours: coloursOf(false), print: () => {}, append: () => {}, closeLine: () => {} }
  const port = {
    async *views() {
      yield viewOf('story', emptyState)
      yield viewOf('story', stateOf([said('t1')]))
    },
  } as Partial<ChatPort> as ChatPort
  const broken = new Transcript(
    {
      ...paper,
      print: () => {
        throw new Error('the paper is torn')
      },
    },
    { agent: 'clerk' },
  )
  const chat = new PlainChat(port, paper, broken)
  await expect(chat.until(({ seq }) => seq > 0)).rejects.toThrow('the paper is torn')
  await chat.end()
})
