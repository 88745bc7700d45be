import { describe, expect, test } from 'vitest'
import {
  called,
  failed,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import type { NewEvent, ToolCallContent } from './events.ts'
import { nextStep, type Step } from './next-step.ts'
import { toolResult } from './validate-event.ts'

/** Events in, next step out: what the owner of a conversation does about the calls of a turn. */
type Story = { readonly name: string; readonly log: NewEvent[]; readonly running?: string[]; readonly next: Step }

const wait: Step = { type: 'wait' }
const awaitingInput: Step = { type: 'park', state: 'awaiting_input' }
const model: Step = { type: 'model', turnId: 't1', step: 1 }
const commit = (...events: NewEvent[]): Step => ({ type: 'commit', events })
const interrupted = (callId: string): NewEvent =>
  failed(callId, 'interrupted: the tool was started and its outcome is unknown; it may have taken effect', 'unknown')

/** A turn whose model has made one call. */
const calling = (options: Partial<ToolCallContent> = {}): NewEvent[] => [
  said('t1'),
  replied('t1', 'm1', 1, { calls: ['c1'] }),
  called('c1', options),
]

/** A turn whose model has made calls c1 to cN. */
const callingMany = (count: number, maxParallelCalls?: number): NewEvent[] => {
  const calls = Array.from({ length: count }, (_, index) => `c${index + 1}`)
  const options = maxParallelCalls === undefined ? {} : { maxParallelCalls }
  return [said('t1', options), replied('t1', 'm1', 1, { calls }), ...calls.map((callId) => called(callId))]
}

tell('a server tool', [
  { name: 'its start is committed before it runs, also after a crash', log: calling(), next: commit(started('c1')) },
  { name: 'its outcome is waited for while it runs', log: [...calling(), started('c1')], running: ['c1'], next: wait },
  {
    name: 'all calls of a message start in one commit',
    log: callingMany(2),
    next: commit(started('c1'), started('c2')),
  },
  {
    name: 'at most eight run at a time',
    log: callingMany(9),
    next: commit(...[1, 2, 3, 4, 5, 6, 7, 8].map((n) => started(`c${n}`))),
  },
  { name: 'maxParallelCalls sets another limit', log: callingMany(2, 1), next: commit(started('c1')) },
  {
    name: 'a call over the limit waits',
    log: [...callingMany(2, 1), started('c1')],
    running: ['c1'],
    next: wait,
  },
  {
    name: 'a call over the limit starts when another has ended',
    log: [...callingMany(2, 1), started('c1'), succeeded('c1')],
    next: commit(started('c2')),
  },
  {
    name: 'a limit below one still lets one run',
    log: [...callingMany(2)].with(0, zeroLimit()),
    next: commit(started('c1')),
  },
])

tell('a gated tool', [
  {
    name: 'asks for approval before it starts',
    log: calling({ gated: true, expiresInMs: 60_000, prompt: { title: 'Refund?' } }),
    next: commit(suspended('c1', 'approval', { expiresInMs: 60_000, prompt: { title: 'Refund?' } })),
  },
  {
    name: 'waits for the approval',
    log: [...calling({ gated: true }), suspended('c1', 'approval')],
    next: awaitingInput,
  },
  {
    name: 'starts when approved',
    log: [...calling({ gated: true }), suspended('c1', 'approval'), resolved('c1', 'approval')],
    next: commit(started('c1')),
  },
  {
    name: 'does not start when denied',
    log: [...calling({ gated: true }), suspended('c1', 'approval'), resolved('c1', 'approval', 'denied')],
    next: model,
  },
  {
    name: 'does not start when the answer is a plain false',
    log: [
      ...calling({ gated: true }),
      suspended('c1', 'approval'),
      resolved('c1', 'approval', 'resolved', { value: false }),
    ],
    next: model,
  },
  {
    name: 'does not start when no answer came in time',
    log: [...calling({ gated: true }), suspended('c1', 'approval'), resolved('c1', 'approval', 'expired')],
    next: model,
  },
  {
    name: 'does not start when cancelled',
    log: [...calling({ gated: true }), suspended('c1', 'approval'), resolved('c1', 'approval', 'cancelled')],
    next: model,
  },
  {
    name: 'an answer to a round that was never asked changes nothing',
    log: [
      ...calling({ gated: true }),
      suspended('c1', 'approval'),
      resolved('c1', 'approval', 'resolved', { round: 2 }),
    ],
    next: awaitingInput,
  },
  {
    name: 'a second answer changes nothing',
    log: [
      ...calling({ gated: true }),
      suspended('c1', 'approval'),
      resolved('c1', 'approval', 'denied'),
      resolved('c1', 'approval'),
    ],
    next: model,
  },
])

tell('a tool that others run', [
  {
    name: 'a human tool asks with its own schema',
    log: calling({ executor: 'human', schema: { type: 'number' } }),
    next: commit(suspended('c1', 'elicitation', { schema: { type: 'number' } })),
  },
  {
    name: 'a human tool ends with the answer',
    log: [...calling({ executor: 'human' }), suspended('c1', 'elicitation'), resolved('c1', 'elicitation')],
    next: model,
  },
  {
    name: 'a client tool asks the client',
    log: calling({ executor: 'client' }),
    next: commit(suspended('c1', 'client_exec')),
  },
  {
    name: 'a child agent has no deadline',
    log: calling({ executor: 'agent', expiresInMs: 60_000 }),
    next: commit(suspended('c1', 'sub_agent')),
  },
  {
    name: 'a gated client tool asks for approval first',
    log: calling({ executor: 'client', gated: true }),
    next: commit(suspended('c1', 'approval')),
  },
  {
    name: 'a gated client tool asks the client in a second round',
    log: [
      ...calling({ executor: 'client', gated: true }),
      suspended('c1', 'approval'),
      resolved('c1', 'approval', 'resolved', { value: true }),
    ],
    next: commit(suspended('c1', 'client_exec', { round: 2 })),
  },
  {
    name: 'a late second click on the approval does not answer for the client',
    log: [
      ...calling({ executor: 'client', gated: true }),
      suspended('c1', 'approval'),
      resolved('c1', 'approval', 'resolved', { value: true }),
      suspended('c1', 'client_exec', { round: 2 }),
      resolved('c1', 'approval', 'denied', { round: 1 }),
    ],
    next: awaitingInput,
  },
  {
    name: 'a gated client tool ends with the answer of the second round',
    log: [
      ...calling({ executor: 'client', gated: true }),
      suspended('c1', 'approval'),
      resolved('c1', 'approval', 'resolved', { value: true }),
      suspended('c1', 'client_exec', { round: 2 }),
      resolved('c1', 'client_exec', 'resolved', { round: 2, value: { ok: true, result: 1 } }),
    ],
    next: model,
  },
  {
    name: 'a gated child agent begins after the approval',
    log: [
      ...calling({ executor: 'agent', gated: true }),
      suspended('c1', 'approval'),
      resolved('c1', 'approval', 'resolved', { value: true }),
    ],
    next: commit(suspended('c1', 'sub_agent', { round: 2 })),
  },
])

tell('several calls', [
  {
    name: 'start and ask in one commit',
    log: [...callingMany(1), called('c2', { gated: true }), called('c3', { executor: 'human' })],
    next: commit(started('c1'), suspended('c2', 'approval'), suspended('c3', 'elicitation')),
  },
  {
    name: 'the turn does not park while something runs',
    log: [...callingMany(1), called('c2', { gated: true }), started('c1'), suspended('c2', 'approval')],
    running: ['c1'],
    next: wait,
  },
  {
    name: 'the model is not called before the last one has ended',
    log: [
      ...callingMany(1),
      called('c2', { gated: true }),
      started('c1'),
      suspended('c2', 'approval'),
      succeeded('c1'),
    ],
    next: awaitingInput,
  },
  {
    name: 'an approved one starts while another is still pending',
    log: [
      ...calling({ gated: true }),
      called('c2', { gated: true }),
      suspended('c1', 'approval'),
      suspended('c2', 'approval'),
      resolved('c2', 'approval'),
    ],
    next: commit(started('c2')),
  },
])

tell('a crash', [
  {
    name: 'a started call is reported as unknown by default',
    log: [...calling(), started('c1')],
    next: commit(interrupted('c1')),
  },
  {
    name: 'a started call is run again when its tool allows it',
    log: [...calling({ ifInterrupted: 'rerun' }), started('c1')],
    next: commit(started('c1', 2)),
  },
  {
    name: 'it is run three times at most',
    log: [...calling({ ifInterrupted: 'rerun' }), started('c1'), started('c1', 2)],
    next: commit(started('c1', 3)),
  },
  {
    name: 'after three attempts it is reported',
    log: [...calling({ ifInterrupted: 'rerun' }), started('c1'), started('c1', 2), started('c1', 3)],
    next: commit(interrupted('c1')),
  },
  {
    name: 'a started call asks a person when its tool says so',
    log: [...calling({ ifInterrupted: 'ask', expiresInMs: 9 }), started('c1')],
    next: commit(suspended('c1', 'recovery', { expiresInMs: 9 })),
  },
  {
    name: 'a gated call asks in the round after its approval',
    log: [
      ...calling({ gated: true, ifInterrupted: 'ask' }),
      suspended('c1', 'approval'),
      resolved('c1', 'approval'),
      started('c1'),
    ],
    next: commit(suspended('c1', 'recovery', { round: 2 })),
  },
  { name: 'it waits for the decision', log: asking(), next: awaitingInput },
  { name: 'a person lets it run again', log: decided('rerun'), next: commit(started('c1', 2)) },
  { name: 'the second run is waited for', log: [...decided('rerun'), started('c1', 2)], running: ['c1'], next: wait },
  {
    name: 'a second crash asks again, in another round',
    log: [...decided('rerun'), started('c1', 2)],
    next: commit(suspended('c1', 'recovery', { round: 2 })),
  },
  { name: 'a person has it reported', log: decided('report'), next: commit(interrupted('c1')) },
  {
    name: 'a person tells the result',
    log: decided({ result: { paid: true } }),
    next: commit(toolResult({ callId: 'c1', ok: true, result: { paid: true } })),
  },
  {
    name: 'a decision that expires ends the call',
    log: [...asking(), resolved('c1', 'recovery', 'expired')],
    next: model,
  },
  {
    name: 'of several started calls each goes its own way, in one commit',
    log: [
      ...calling({ ifInterrupted: 'rerun' }),
      called('c2', { ifInterrupted: 'ask' }),
      called('c3'),
      started('c1'),
      started('c2'),
      started('c3'),
    ],
    next: commit(started('c1', 2), suspended('c2', 'recovery'), interrupted('c3')),
  },
  {
    name: 'a pending call stays pending',
    log: [...calling({ gated: true }), suspended('c1', 'approval')],
    next: awaitingInput,
  },
])

/** A limit that validation refuses, as another program may have written it. */
function zeroLimit(): NewEvent {
  const message = said('t1') as Extract<NewEvent, { type: 'user_msg' }>
  return { ...message, content: { ...message.content, options: { maxParallelCalls: 0 } } }
}

function asking(): NewEvent[] {
  return [...calling({ ifInterrupted: 'ask' }), started('c1'), suspended('c1', 'recovery')]
}

function decided(value: 'rerun' | 'report' | { result: { paid: boolean } }): NewEvent[] {
  return [...asking(), resolved('c1', 'recovery', 'resolved', { value })]
}

function tell(title: string, stories: Story[]): void {
  describe(title, () => {
    test.each(stories)('$name', ({ log, running = [], next }) => {
      expect(nextStep(stateOf(log), new Set(running))).toEqual(next)
    })
  })
}
