import { describe, expect, test } from 'vitest'
import {
  called,
  cancelled,
  ended,
  failed,
  halted,
  marked,
  noted,
  regenerated,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import type { NewEvent } from './events.ts'
import { nextStep, type Step } from './next-step.ts'

/** Events in, next step out: what the owner of a conversation does about its turns. The calls of a turn have their own table. */
type Story = { readonly name: string; readonly log: NewEvent[]; readonly running?: string[]; readonly next: Step }

const idle: Step = { type: 'park', state: 'idle' }
const wait: Step = { type: 'wait' }
const model = (turnId: string, step: number): Step => ({ type: 'model', turnId, step })
const commit = (...events: NewEvent[]): Step => ({ type: 'commit', events })
const terminate = (turnId: string): Step => ({ type: 'terminate', turnId })

const twoCalls = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }), called('c1'), called('c2')]
const oneCall = [replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1')]

tell('a turn', [
  { name: 'an empty log has nothing to do', log: [], next: idle },
  { name: 'a first message calls the model', log: [said('t1')], next: model('t1', 0) },
  {
    name: 'an answer without calls ends the turn',
    log: [said('t1'), replied('t1', 'm1', 1)],
    next: commit(ended('t1')),
  },
  { name: 'an ended turn leaves nothing to do', log: [said('t1'), replied('t1', 'm1', 1), ended('t1')], next: idle },
  {
    name: 'calls that have all ended go back to the model, one step further',
    log: [said('t1'), ...oneCall, started('c1'), succeeded('c1')],
    next: model('t1', 1),
  },
  {
    name: 'a call that failed goes back to the model too',
    log: [said('t1'), ...oneCall, started('c1'), failed('c1', 'no money')],
    next: model('t1', 1),
  },
  {
    name: 'calls of the model host are parts of the message and do not continue the turn',
    log: [
      said('t1'),
      replied('t1', 'm1', 1, {
        parts: [
          { type: 'provider_call', providerCallId: 'p1', name: 'search', args: {} },
          { type: 'provider_result', providerCallId: 'p1', name: 'search', result: [] },
          { type: 'text', text: 'found nothing' },
        ],
      }),
    ],
    next: commit(ended('t1')),
  },
  {
    name: 'a failed message ends the turn, should its end be missing',
    log: [said('t1'), replied('t1', 'm1', 1, { status: 'failed' })],
    next: commit(ended('t1', 'failed', 'model_failed')),
  },
  { name: 'a note is not work', log: [noted('rated')], next: idle },
  { name: 'a title is not work', log: [{ type: 'titled', content: { title: 'Refunds' } }], next: idle },
  { name: 'a seeded log has nothing to do', log: [{ type: 'seeded', content: { state: { a: 1 } } }], next: idle },
])

tell('steering', [
  {
    name: 'a message after what the answer has seen keeps the turn going',
    log: [said('t1'), said('t1'), replied('t1', 'm1', 1)],
    next: model('t1', 1),
  },
  {
    name: 'a message that the answer has seen does not',
    log: [said('t1'), said('t1'), replied('t1', 'm1', 2)],
    next: commit(ended('t1')),
  },
  {
    name: 'a message after the answer keeps the turn going',
    log: [said('t1'), replied('t1', 'm1', 1), said('t1')],
    next: model('t1', 1),
  },
  {
    name: 'a message while a call runs waits for the call',
    log: [said('t1'), ...oneCall, started('c1'), said('t1')],
    running: ['c1'],
    next: wait,
  },
])

tell('regeneration', [
  {
    name: 'a regenerated message is not a step: the model is called for the same one',
    log: [said('t1'), replied('t1', 'm1', 1), regenerated('m1')],
    next: model('t1', 0),
  },
  {
    name: 'the message before a regenerated one still counts',
    log: [said('t1'), ...oneCall, started('c1'), succeeded('c1'), replied('t1', 'm2', 5), regenerated('m2')],
    next: model('t1', 1),
  },
  {
    name: 'the message that replaces it ends the turn',
    log: [said('t1'), replied('t1', 'm1', 1), regenerated('m1'), replied('t1', 'm2', 3)],
    next: commit(ended('t1')),
  },
])

tell('a fork that begins after a message that is withheld', [
  {
    name: 'has no answer yet: the model is called again',
    log: [said('t1'), marked('m1'), replied('t1', 'm1', 1)],
    next: model('t1', 1),
  },
  { name: 'with its mark alone calls the model', log: [said('t1'), marked('m1')], next: model('t1', 0) },
  {
    name: 'stays within its steps',
    log: [said('t1', { maxSteps: 1 }), marked('m1'), replied('t1', 'm1', 1)],
    next: commit(ended('t1', 'halted', 'max_steps')),
  },
])

const aimed = [said('t1', { untilTool: 'submit' }), replied('t1', 'm1', 1, { calls: ['c1'] })]
const submit = called('c1', { name: 'submit' })

tell('limits of a turn', [
  {
    name: 'untilTool ends the turn when a call of that tool ends ok',
    log: [...aimed, submit, started('c1'), succeeded('c1')],
    next: commit(ended('t1', 'completed', 'until_tool')),
  },
  {
    name: 'untilTool goes on when the call failed',
    log: [...aimed, submit, started('c1'), failed('c1', 'not good enough')],
    next: model('t1', 1),
  },
  {
    name: 'untilTool goes on when another tool was called',
    log: [...aimed, called('c1'), started('c1'), succeeded('c1')],
    next: model('t1', 1),
  },
  {
    name: 'untilTool waits for the other calls of the message',
    log: [...aimed, submit, called('c2'), started('c1'), started('c2'), succeeded('c1')],
    running: ['c2'],
    next: wait,
  },
  {
    name: 'untilTool is reached by the answer of a person as well',
    log: [
      ...aimed,
      called('c1', { name: 'submit', executor: 'human' }),
      suspended('c1', 'elicitation'),
      resolved('c1', 'elicitation', 'resolved', { value: 7 }),
    ],
    next: commit(ended('t1', 'completed', 'until_tool')),
  },
  {
    name: 'untilTool does not end a turn with a message that the model has not read',
    log: [...aimed, submit, started('c1'), said('t1'), succeeded('c1')],
    next: model('t1', 1),
  },
  {
    name: 'maxSteps halts a turn that would call the model once more',
    log: [said('t1', { maxSteps: 1 }), ...oneCall, started('c1'), succeeded('c1')],
    next: commit(ended('t1', 'halted', 'max_steps')),
  },
  {
    name: 'maxSteps does not halt a turn that is complete',
    log: [said('t1', { maxSteps: 1 }), replied('t1', 'm1', 1)],
    next: commit(ended('t1')),
  },
  {
    name: 'maxSteps lets the calls of the last step run',
    log: [said('t1', { maxSteps: 1 }), ...oneCall],
    next: commit(started('c1')),
  },
  {
    name: 'maxSteps does not count what was regenerated',
    log: [said('t1', { maxSteps: 1 }), replied('t1', 'm1', 1), regenerated('m1')],
    next: model('t1', 0),
  },
  {
    name: 'maxTokens halts a turn that has used them up',
    log: [
      said('t1', { maxTokens: 100 }),
      replied('t1', 'm1', 1, { calls: ['c1'], usage: { inputTokens: 60, outputTokens: 40 } }),
      called('c1'),
      started('c1'),
      succeeded('c1'),
    ],
    next: commit(ended('t1', 'halted', 'max_tokens')),
  },
  {
    name: 'maxTokens counts what was regenerated: it was paid for',
    log: [
      said('t1', { maxTokens: 100 }),
      replied('t1', 'm1', 1, { usage: { inputTokens: 60, outputTokens: 40 } }),
      regenerated('m1'),
    ],
    next: commit(ended('t1', 'halted', 'max_tokens')),
  },
  {
    name: 'maxTokens goes on below the budget',
    log: [
      said('t1', { maxTokens: 101 }),
      replied('t1', 'm1', 1, { calls: ['c1'], usage: { inputTokens: 60, outputTokens: 40 } }),
      called('c1'),
      started('c1'),
      succeeded('c1'),
    ],
    next: model('t1', 1),
  },
  {
    name: "the turn's first message decides its options",
    log: [said('t1', { maxSteps: 5 }), replied('t1', 'm1', 1), said('t1', { maxSteps: 1 })],
    next: model('t1', 1),
  },
])

tell('the queue', [
  { name: 'a second turn waits for the first', log: [said('t1'), said('t2')], next: model('t1', 0) },
  {
    name: 'a message for another turn does not keep the open one going',
    log: [said('t1'), said('t2'), replied('t1', 'm1', 1)],
    next: commit(ended('t1')),
  },
  {
    name: 'the end of a turn opens the next',
    log: [said('t1'), said('t2'), replied('t1', 'm1', 1), ended('t1')],
    next: model('t2', 0),
  },
  {
    name: 'queued turns open in the order of their first messages, also when an earlier one is extended',
    log: [said('t1'), said('t2'), said('t3'), said('t2'), replied('t1', 'm1', 1), ended('t1')],
    next: model('t2', 0),
  },
  {
    name: 'a turn that waits for a person holds the queue',
    log: [said('t1'), ...oneCallOf('human'), suspended('c1', 'elicitation'), said('t2')],
    next: { type: 'park', state: 'awaiting_input' },
  },
])

tell('cancelling', [
  { name: 'the open turn is terminated', log: [said('t1'), cancelled('t1')], next: terminate('t1') },
  {
    name: 'the open turn is terminated while its call runs',
    log: [said('t1'), ...oneCall, started('c1'), cancelled('t1')],
    running: ['c1'],
    next: terminate('t1'),
  },
  {
    name: 'the open turn is terminated while it waits for a person',
    log: [said('t1'), ...oneCallOf('human'), suspended('c1', 'elicitation'), cancelled('t1')],
    next: terminate('t1'),
  },
  {
    name: 'a turn with nothing left to do is terminated, not completed',
    log: [said('t1'), replied('t1', 'm1', 1), cancelled('t1')],
    next: terminate('t1'),
  },
  {
    name: 'a queued turn ends at once, while the open one works',
    log: [said('t1'), said('t2'), cancelled('t2')],
    next: commit(ended('t2', 'cancelled')),
  },
  {
    name: 'a queued turn ends at once, while a call of the open one runs',
    log: [said('t1'), ...oneCall, started('c1'), said('t2'), cancelled('t2')],
    running: ['c1'],
    next: commit(ended('t2', 'cancelled')),
  },
  {
    name: 'several queued turns end in one commit',
    log: [said('t1'), said('t2'), said('t3'), cancelled('t3'), cancelled('t2')],
    next: commit(ended('t2', 'cancelled'), ended('t3', 'cancelled')),
  },
  {
    name: 'a queued turn that was cancelled is passed over',
    log: [said('t1'), said('t2'), said('t3'), cancelled('t2'), ended('t2', 'cancelled'), ended('t1')],
    next: model('t3', 0),
  },
  {
    name: 'a queued turn that was cancelled never opens, even when the open one ends first',
    log: [said('t1'), said('t2'), said('t3'), cancelled('t2'), ended('t1', 'halted', 'hook')],
    next: commit(ended('t2', 'cancelled')),
  },
  {
    name: 'an interrupt does not jump the queue',
    log: [said('t1'), said('t2'), cancelled('t1'), said('t3'), ended('t1', 'cancelled')],
    next: model('t2', 0),
  },
  {
    name: 'an ended turn cannot be cancelled',
    log: [said('t1'), replied('t1', 'm1', 1), ended('t1'), cancelled('t1')],
    next: idle,
  },
  { name: 'cancelling a turn that never was does nothing', log: [said('t1'), cancelled('t9')], next: model('t1', 0) },
])

function oneCallOf(executor: 'human' | 'client'): NewEvent[] {
  return [replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { executor })]
}

function tell(title: string, stories: Story[]): void {
  describe(title, () => {
    test.each(stories)('$name', ({ log, running = [], next }) => {
      expect(nextStep(stateOf(log), new Set(running))).toEqual(next)
    })
  })
}

tell('a tool that ends the turn', [
  {
    name: 'ends it as halted, with its reason and without another model call',
    log: [said('t1'), ...oneCall, started('c1'), halted('c1'), succeeded('c1')],
    next: commit(ended('t1', 'halted', 'handed over')),
  },
  {
    name: 'ends it also when its own result is an error',
    log: [said('t1'), ...oneCall, started('c1'), halted('c1'), failed('c1', 'not JSON', 'ran')],
    next: commit(ended('t1', 'halted', 'handed over')),
  },
  {
    name: 'wins over the tool that the turn runs until, and over a message that came meanwhile',
    log: [said('t1', { untilTool: 'lookup' }), ...oneCall, started('c1'), said('t1'), halted('c1'), succeeded('c1')],
    next: commit(ended('t1', 'halted', 'handed over')),
  },
  {
    name: 'waits for the calls beside it that run',
    log: [...twoCalls, started('c1'), started('c2'), halted('c1'), succeeded('c1')],
    running: ['c2'],
    next: wait,
  },
  {
    name: 'has the calls beside it started that are not yet',
    log: [...twoCalls, started('c1'), halted('c1'), succeeded('c1')],
    next: commit(started('c2')),
  },
  {
    name: 'waits for a person who is asked beside it',
    log: [...twoCalls, suspended('c2', 'approval'), started('c1'), halted('c1'), succeeded('c1')],
    next: { type: 'park', state: 'awaiting_input' },
  },
  {
    name: 'gives way to a cancel',
    log: [said('t1'), ...oneCall, started('c1'), halted('c1'), succeeded('c1'), cancelled('t1')],
    next: terminate('t1'),
  },
  {
    name: 'still ends the turn when the log was cut before its result',
    log: [said('t1'), ...oneCall, started('c1'), halted('c1'), failed('c1', 'interrupted', 'unknown')],
    next: commit(ended('t1', 'halted', 'handed over')),
  },
])
