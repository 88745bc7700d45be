import { calling, plainCall, tell, text } from '../../test/log/settle-stories.ts'
import {
  answer,
  called,
  cancelled,
  draftCall,
  ended,
  failed,
  marked,
  replied,
  resolved,
  said,
  started,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import type { NewEvent, ToolCallContent } from './events.ts'
import type { Outcome } from './settle.ts'
import { toolResult } from './validate-event.ts'

const asking = (kind: 'approval' | 'recovery', options: Partial<ToolCallContent> = {}): NewEvent[] => [
  ...calling({ gated: kind === 'approval', ...options }),
  ...(kind === 'recovery' ? [started('c1')] : []),
  suspended('c1', kind),
]
const cancel: Outcome = { type: 'cancel', turnId: 't1' }
const whileRunning = 'cancelled while it ran: its outcome is unknown; it may have taken effect'

tell('a cancel is one commit', [
  {
    name: 'before the model has answered',
    log: [said('t1'), cancelled('t1')],
    outcome: cancel,
    append: [ended('t1', 'cancelled')],
  },
  {
    name: 'while the model answers: with what there is of the message',
    log: [said('t1'), cancelled('t1')],
    outcome: { ...cancel, partial: partial() },
    append: [
      replied('t1', 'm1', 1, { status: 'cancelled', parts: [text, plainCall], finishReason: 'tool-calls' }),
      ended('t1', 'cancelled'),
    ],
  },
  {
    name: 'while hooks judge the message: it is withheld',
    log: [said('t1'), cancelled('t1')],
    outcome: { ...cancel, partial: { ...partial(), object: { answer: 42 }, withheld: 'guard' } },
    append: [
      marked('m1'),
      replied('t1', 'm1', 1, { status: 'cancelled', parts: [text, plainCall], finishReason: 'tool-calls' }),
      ended('t1', 'cancelled'),
    ],
  },
  {
    name: 'while the model answers: an empty message is left out',
    log: [said('t1'), cancelled('t1')],
    outcome: { ...cancel, partial: { ...partial(), parts: [] } },
    append: [ended('t1', 'cancelled')],
  },
  {
    name: 'when the message is already in the log',
    log: [said('t1'), replied('t1', 'm1', 1), cancelled('t1')],
    outcome: { ...cancel, partial: partial() },
    append: [ended('t1', 'cancelled')],
  },
  {
    name: 'while a call runs: it reads as unknown',
    log: [...calling(), started('c1'), cancelled('t1')],
    outcome: cancel,
    append: [failed('c1', whileRunning, 'unknown'), ended('t1', 'cancelled')],
  },
  {
    name: 'before a call was started: it reads as an error',
    log: [...calling(), cancelled('t1')],
    outcome: cancel,
    append: [failed('c1', 'cancelled before it was started'), ended('t1', 'cancelled')],
  },
  {
    name: 'before a call was asked about: it reads as an error',
    log: [...calling({ gated: true }), cancelled('t1')],
    outcome: cancel,
    append: [failed('c1', 'cancelled before it was started'), ended('t1', 'cancelled')],
  },
  {
    name: 'between approval and start: it reads as an error',
    log: [...asking('approval'), resolved('c1', 'approval'), cancelled('t1')],
    outcome: cancel,
    append: [failed('c1', 'cancelled before it was started'), ended('t1', 'cancelled')],
  },
  {
    name: 'while a call waits for a person: by a resolution in the name of who cancelled',
    log: [...asking('approval'), cancelled('t1')],
    outcome: cancel,
    append: [resolved('c1', 'approval', 'cancelled', { who: 'bob' }), ended('t1', 'cancelled')],
  },
  {
    name: 'in the second round of a call',
    log: [
      ...calling({ executor: 'client', gated: true }),
      suspended('c1', 'approval'),
      resolved('c1', 'approval'),
      suspended('c1', 'client_exec', { round: 2 }),
      cancelled('t1'),
    ],
    outcome: cancel,
    append: [resolved('c1', 'client_exec', 'cancelled', { round: 2, who: 'bob' }), ended('t1', 'cancelled')],
  },
  {
    name: 'while a person is asked about an interrupted call',
    log: [...asking('recovery', { ifInterrupted: 'ask' }), cancelled('t1')],
    outcome: cancel,
    append: [resolved('c1', 'recovery', 'cancelled', { who: 'bob' }), ended('t1', 'cancelled')],
  },
  {
    name: 'after a person has told the result of an interrupted call: it is kept',
    log: [
      ...asking('recovery', { ifInterrupted: 'ask' }),
      resolved('c1', 'recovery', 'resolved', { value: { result: 'paid' } }),
      cancelled('t1'),
    ],
    outcome: cancel,
    append: [toolResult({ callId: 'c1', ok: true, result: 'paid' }), ended('t1', 'cancelled')],
  },
  {
    name: 'after a person has let it run again: the first run may have had its effect',
    log: [
      ...asking('recovery', { ifInterrupted: 'ask' }),
      resolved('c1', 'recovery', 'resolved', { value: 'rerun' }),
      cancelled('t1'),
    ],
    outcome: cancel,
    append: [failed('c1', 'cancelled before it was started', 'unknown'), ended('t1', 'cancelled')],
  },
  {
    name: 'over several calls: each ends once, those that have ended stay',
    log: [
      ...calling(),
      called('c2', { executor: 'human' }),
      called('c3'),
      started('c1'),
      suspended('c2', 'elicitation'),
      started('c3'),
      succeeded('c3'),
      cancelled('t1'),
    ],
    outcome: cancel,
    append: [
      failed('c1', whileRunning, 'unknown'),
      resolved('c2', 'elicitation', 'cancelled', { who: 'bob' }),
      ended('t1', 'cancelled'),
    ],
  },
  { name: 'and nothing without a request', log: [said('t1')], outcome: cancel, append: [] },
  {
    name: 'and nothing for a turn that has ended',
    log: [said('t1'), ended('t1'), cancelled('t1')],
    outcome: cancel,
    append: [],
  },
])

function partial() {
  const { type: _, status: __, ...draft } = answer('m1', 1, { calls: [draftCall('c1')] })
  return draft
}
