import { calling, plainCall, tell, text } from '../../test/log/settle-stories.ts'
import {
  answer,
  called,
  cancelled,
  changed,
  draftCall,
  ended,
  failed,
  halted,
  marked,
  regenerated,
  replied,
  resolved,
  said,
  started,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import type { Outcome } from './settle.ts'
import { injection, stateRefused } from './validate-event.ts'

tell('a message', [
  {
    name: 'is appended',
    log: [said('t1')],
    outcome: answer('m1', 1),
    append: [replied('t1', 'm1', 1)],
  },
  {
    name: 'comes with its calls',
    log: [said('t1')],
    outcome: answer('m1', 1, { calls: [draftCall('c1'), draftCall('c2', { gated: true })] }),
    append: [replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }), called('c1'), called('c2', { gated: true })],
  },
  {
    name: 'closes a call that cannot be made, in the same commit',
    log: [said('t1')],
    outcome: answer('m1', 1, { calls: [draftCall('c1', { result: { ok: false, error: 'no such tool' } })] }),
    append: [replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1'), failed('c1', 'no such tool')],
  },
  {
    name: 'keeps what it has seen when a newer message came in between',
    log: [said('t1'), said('t1')],
    outcome: answer('m1', 1),
    append: [replied('t1', 'm1', 1)],
  },
  {
    name: 'keeps its object',
    log: [said('t1')],
    outcome: answer('m1', 1, { object: { answer: 42 } }),
    append: [replied('t1', 'm1', 1, { object: { answer: 42 } })],
  },
  {
    name: 'that is in the log already is not appended',
    log: [said('t1'), replied('t1', 'm1', 1)],
    outcome: answer('m1', 1),
    append: [],
  },
  {
    name: 'that is in the log and was regenerated is not appended',
    log: [said('t1'), replied('t1', 'm1', 1), regenerated('m1')],
    outcome: answer('m1', 1),
    append: [],
  },
  {
    name: 'for a turn that has ended is dropped',
    log: [said('t1'), ended('t1', 'cancelled')],
    outcome: answer('m1', 1),
    append: [],
  },
  { name: 'for a turn that never was is dropped', log: [], outcome: answer('m1', 1), append: [] },
  {
    name: 'that a hook sends back stays in the log without its calls',
    log: [said('t1')],
    outcome: answer('m1', 1, {
      calls: [draftCall('c1')],
      verdict: { type: 'regenerate', n: 1, feedback: 'say it better' },
    }),
    append: [replied('t1', 'm1', 1, { parts: [text, plainCall], finishReason: 'tool-calls' }), regenerated('m1')],
  },
  {
    name: 'that a hook halts ends the turn without its calls',
    log: [said('t1')],
    outcome: answer('m1', 1, { calls: [draftCall('c1')], verdict: { type: 'halt', reason: 'off topic' } }),
    append: [
      replied('t1', 'm1', 1, { parts: [text, plainCall], finishReason: 'tool-calls' }),
      ended('t1', 'halted', 'off topic'),
    ],
  },
  {
    name: 'whose object fails its schema for the second time fails the turn',
    log: [said('t1')],
    outcome: answer('m1', 1, { verdict: { type: 'fail', reason: 'invalid_object' } }),
    append: [replied('t1', 'm1', 1), ended('t1', 'failed', 'invalid_object')],
  },
  {
    name: 'that broke off fails the turn and keeps what there was of it',
    log: [said('t1')],
    outcome: answer('m1', 1, { status: 'failed', calls: [draftCall('c1')], failure: 'connection lost' }),
    append: [
      replied('t1', 'm1', 1, { status: 'failed', parts: [text, plainCall], finishReason: 'tool-calls' }),
      ended('t1', 'failed', 'connection lost'),
    ],
  },
  {
    name: 'that broke off before it began only fails the turn',
    log: [said('t1')],
    outcome: answer('m1', 1, { status: 'failed', parts: [] }),
    append: [ended('t1', 'failed', 'model_failed')],
  },
  {
    name: 'for a turn that was cancelled meanwhile ends it in one commit',
    log: [said('t1'), cancelled('t1')],
    outcome: answer('m1', 1, { calls: [draftCall('c1')] }),
    append: [
      replied('t1', 'm1', 1, { status: 'cancelled', parts: [text, plainCall], finishReason: 'tool-calls' }),
      ended('t1', 'cancelled'),
    ],
  },
])

const usage = { inputTokens: 10, outputTokens: 5 }
const unpassed = { withheld: 'guard', calls: [draftCall('c1')], object: { answer: 42 }, usage }
const plain = { parts: [text, plainCall], finishReason: 'tool-calls', usage }

tell('a message that no hook has passed comes after its mark, with its usage, without its calls and object', [
  {
    name: 'when its hook failed',
    log: [said('t1')],
    outcome: answer('m1', 1, { ...unpassed, verdict: { type: 'fail', reason: 'hook_failed' } }),
    append: [marked('m1'), replied('t1', 'm1', 1, plain), ended('t1', 'failed', 'hook_failed')],
  },
  {
    name: 'when it was halted',
    log: [said('t1')],
    outcome: answer('m1', 1, { ...unpassed, verdict: { type: 'halt', reason: 'off topic' } }),
    append: [marked('m1'), replied('t1', 'm1', 1, plain), ended('t1', 'halted', 'off topic')],
  },
  {
    name: 'when it is written anew',
    log: [said('t1')],
    outcome: answer('m1', 1, { ...unpassed, verdict: { type: 'regenerate', n: 1, feedback: 'say it better' } }),
    append: [marked('m1'), replied('t1', 'm1', 1, plain), regenerated('m1')],
  },
  {
    name: 'when it broke off',
    log: [said('t1')],
    outcome: answer('m1', 1, { ...unpassed, status: 'failed', failure: 'connection lost' }),
    append: [
      marked('m1'),
      replied('t1', 'm1', 1, { ...plain, status: 'failed' }),
      ended('t1', 'failed', 'connection lost'),
    ],
  },
  {
    name: 'when its turn was cancelled meanwhile',
    log: [said('t1'), cancelled('t1')],
    outcome: answer('m1', 1, { ...unpassed, verdict: { type: 'fail', reason: 'hook_failed' } }),
    append: [marked('m1'), replied('t1', 'm1', 1, { ...plain, status: 'cancelled' }), ended('t1', 'cancelled')],
  },
  {
    name: 'unless there is nothing of it',
    log: [said('t1')],
    outcome: answer('m1', 1, { ...unpassed, status: 'failed', parts: [] }),
    append: [ended('t1', 'failed', 'model_failed')],
  },
  {
    name: 'unless it is in the log already',
    log: [said('t1'), marked('m1'), replied('t1', 'm1', 1), regenerated('m1')],
    outcome: answer('m1', 1, { ...unpassed, verdict: { type: 'fail', reason: 'hook_failed' } }),
    append: [],
  },
])

tell('a result', [
  {
    name: 'ends the call',
    log: [...calling(), started('c1')],
    outcome: { type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' } },
    append: [succeeded('c1')],
  },
  {
    name: 'of a tool that ends the turn comes right after its halt',
    log: [...calling(), started('c1')],
    outcome: { type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' }, halt: 'handed over' },
    append: [halted('c1'), succeeded('c1')],
  },
  {
    name: 'has no second halt where the log was cut after the first',
    log: [...calling(), started('c1'), halted('c1'), started('c1', 2)],
    outcome: { type: 'result', callId: 'c1', attempt: 2, result: { ok: true, result: 'done' }, halt: 'handed over' },
    append: [succeeded('c1')],
  },
  {
    name: 'comes right after what the tool set',
    log: [...calling(), started('c1')],
    outcome: {
      ...{ type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' } },
      state: { patch: { set: { todos: ['tea'] }, remove: [] }, exposed: ['todos'] },
    },
    append: [changed({ todos: ['tea'] }, { callId: 'c1' }), succeeded('c1')],
  },
  {
    name: 'of a tool that sets state and ends the turn has both before it',
    log: [...calling(), started('c1')],
    outcome: {
      ...{ type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' }, halt: 'handed over' },
      state: { patch: { set: { todos: ['tea'] }, remove: [] }, exposed: ['todos'] },
    },
    append: [changed({ todos: ['tea'] }, { callId: 'c1' }), halted('c1'), succeeded('c1')],
  },
  {
    name: 'tells that what the tool set was refused',
    log: [...calling(), started('c1')],
    outcome: {
      ...{ type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' } },
      state: { refused: 'todos must be a list' },
    },
    append: [stateRefused({ callId: 'c1', reason: 'todos must be a list' }), succeeded('c1')],
  },
  {
    name: 'that is an error sets nothing',
    log: [...calling(), started('c1')],
    outcome: {
      ...{ type: 'result', callId: 'c1', attempt: 1, result: { ok: false, error: 'broke' } },
      state: { patch: { set: { todos: ['tea'] }, remove: [] }, exposed: ['todos'] },
    },
    append: [failed('c1', 'broke')],
  },
  {
    name: 'that could not be recorded says that the tool ran',
    log: [...calling(), started('c1')],
    outcome: {
      type: 'result',
      callId: 'c1',
      attempt: 1,
      result: { ok: false, error: 'not JSON', outcome: 'ran' },
    },
    append: [failed('c1', 'not JSON', 'ran')],
  },
  {
    name: 'is kept when the turn was cancelled while the tool ran',
    log: [...calling(), started('c1'), cancelled('t1')],
    outcome: { type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' } },
    append: [succeeded('c1')],
  },
  {
    name: 'of an earlier attempt is dropped',
    log: [...calling({ ifInterrupted: 'rerun' }), started('c1'), started('c1', 2)],
    outcome: { type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' } },
    append: [],
  },
  {
    name: 'of a call that has ended is dropped',
    log: [...calling(), started('c1'), failed('c1', 'interrupted', 'unknown')],
    outcome: { type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' } },
    append: [],
  },
  {
    name: 'of a call that a person is being asked about is dropped',
    log: [...calling({ ifInterrupted: 'ask' }), started('c1'), suspended('c1', 'recovery')],
    outcome: { type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' } },
    append: [],
  },
  {
    name: 'of a turn that has ended is dropped',
    log: [...calling(), started('c1'), ended('t1', 'cancelled')],
    outcome: { type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' } },
    append: [],
  },
  {
    name: 'of a call that never was is dropped',
    log: [said('t1')],
    outcome: { type: 'result', callId: 'c9', attempt: 1, result: { ok: true, result: 'done' } },
    append: [],
  },
])

const remembered: Outcome = { type: 'injection', turnId: 't1', step: 0, hook: 'memory', parts: [] }
const memory = injection({ turnId: 't1', step: 0, hook: 'memory', parts: [] })

tell('other outcomes', [
  {
    name: 'a turn that a hook halts before the model is called ends',
    log: [said('t1')],
    outcome: { type: 'end', turnId: 't1', status: 'halted', reason: 'over quota' },
    append: [ended('t1', 'halted', 'over quota')],
  },
  {
    name: 'a turn that fails while it is being cancelled was cancelled',
    log: [said('t1'), cancelled('t1')],
    outcome: { type: 'end', turnId: 't1', status: 'failed', reason: 'model_failed' },
    append: [ended('t1', 'cancelled')],
  },
  {
    name: 'a turn that ends over an open call, which nothing should bring about, ends the call as the system',
    log: [
      said('t1'),
      replied('t1', 'm1', 1, { calls: ['c1'] }),
      called('c1', { gated: true }),
      suspended('c1', 'approval'),
    ],
    outcome: { type: 'end', turnId: 't1', status: 'failed', reason: 'model_failed' },
    append: [resolved('c1', 'approval', 'cancelled', { who: 'system' }), ended('t1', 'failed', 'model_failed')],
  },
  {
    name: 'a turn that has ended does not end again',
    log: [said('t1'), ended('t1')],
    outcome: { type: 'end', turnId: 't1', status: 'failed', reason: 'model_failed' },
    append: [],
  },
  { name: 'an injection is appended, also an empty one', log: [said('t1')], outcome: remembered, append: [memory] },
  {
    name: 'an injection of that hook and step is in the log once',
    log: [said('t1'), memory],
    outcome: remembered,
    append: [],
  },
  {
    name: 'another hook has its own injection',
    log: [said('t1'), memory],
    outcome: { ...remembered, hook: 'clock' },
    append: [injection({ turnId: 't1', step: 0, hook: 'clock', parts: [] })],
  },
  {
    name: 'the next step has its own injection',
    log: [said('t1'), memory],
    outcome: { ...remembered, step: 1 },
    append: [injection({ turnId: 't1', step: 1, hook: 'memory', parts: [] })],
  },
  {
    name: 'a turn that is being cancelled takes no injection',
    log: [said('t1'), cancelled('t1')],
    outcome: remembered,
    append: [],
  },
  {
    name: 'a title is given once',
    log: [said('t1')],
    outcome: { type: 'title', title: 'Refunds' },
    append: [{ type: 'titled', content: { title: 'Refunds' } }],
  },
  {
    name: 'a title that is there stays',
    log: [said('t1'), { type: 'titled', content: { title: 'Mine' } }],
    outcome: { type: 'title', title: 'Refunds' },
    append: [],
  },
])
