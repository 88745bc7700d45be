import { expect, test } from 'vitest'
import type { LogEvent, NewEvent } from '../../log/events.ts'
import { foldFlow, openAgentIds, readSentMessages, writeSentMessages } from './flow-state.ts'

const agent = { kind: 'agent' as const, agent: 'helper', id: null, message: 'go' }
const opened = (
  position: number,
  op: Extract<NewEvent, { type: 'flow_opened' }>['content']['op'],
  id?: string,
): NewEvent => ({
  type: 'flow_opened',
  content: { position, op, asked: position, ...(id === undefined ? {} : { id }) },
})
const events: NewEvent[] = [
  { type: 'flow_started', content: { flow: 'f', version: '1', input: null, who: 'ann' } },
  opened(1, agent, 's/0/1'),
  opened(2, agent, 's/0/2'),
  opened(3, { kind: 'step', name: 'pay', input: null, ifInterrupted: 'rerun' }, 's/0/3'),
  opened(4, agent),
  opened(5, agent, 's/0/5'),
  { type: 'flow_outcome', content: { position: 1, ok: true, value: null } },
]
const state = foldFlow(
  events.map((event, index): LogEvent => ({ ...event, conversationId: 's', seq: index + 1, at: 1 })),
)!

test('a session waits for the messages to agents that have an id and no outcome', () => {
  expect(openAgentIds(state)).toEqual(['s/0/2', 's/0/5'])
})

test('those of them that were sent are kept beside the log, and read back', () => {
  const settings = writeSentMessages(state, new Set(['s/0/1', 's/0/5', 'other']))
  expect(readSentMessages({ settings: settings! })).toEqual(new Set(['s/0/5']))
  expect(writeSentMessages(state, new Set(['s/0/1']))).toBe(null)
})

test('what is not such a list is none', () => {
  for (const settings of [{}, { sentMessages: 's/0/5' }, { sentMessages: [7, null] }])
    expect(readSentMessages({ settings })).toEqual(new Set())
  expect(readSentMessages({ settings: { sentMessages: ['a', 7] } })).toEqual(new Set(['a']))
  expect(readSentMessages(null)).toEqual(new Set())
})
