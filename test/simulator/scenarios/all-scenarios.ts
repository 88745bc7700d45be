import { halt, postHook, preHook, regenerate } from '../../../src/define/create-hook.ts'
import { inject } from '../../../src/define/turn.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from './scenario.ts'

const done = (tool: string): string => `${tool} = "${tool} done"`

const keepsState = {
  state: { type: 'object', required: ['kept', 'outside'] },
  initialState: { kept: [], outside: [] },
}

/** A stream that breaks off is tried again without a delay worth the name. */
const retriesAtOnce = { retry: { baseMs: 1, maxMs: 1 } }

export const scenarios: readonly Scenario[] = [
  {
    name: 'plain',
    messages: ['say hello', 'say it again'],
    title: 'Greetings',
    transcripts: [
      [
        'user: say hello',
        'assistant: Hello there.',
        'completed',
        'user: say it again',
        'assistant: Hello again.',
        'completed',
      ],
    ],
  },
  {
    name: 'parallel-tools',
    messages: ['pay, look and book'],
    transcripts: [
      [
        'user: pay, look and book',
        'assistant: At once.',
        done('pay'),
        done('look'),
        done('book'),
        'assistant: All three are done.',
        'completed',
      ],
    ],
  },
  {
    name: 'tools-one-by-one',
    messages: ['pay, look, ship'],
    transcripts: [
      [
        'user: pay, look, ship',
        'assistant: ',
        done('pay'),
        'assistant: Then look.',
        done('look'),
        'assistant: ',
        done('ship'),
        'assistant: One after the other.',
        'completed',
      ],
    ],
  },
  {
    name: 'approved',
    messages: ['refund me'],
    transcripts: [['user: refund me', 'assistant: ', done('refund'), 'assistant: It is refunded.', 'completed']],
  },
  {
    name: 'approved-while-nobody-ran',
    messages: ['refund me'],
    isApprovedBeforehand: true,
    transcripts: [['user: refund me', 'assistant: ', done('refund'), 'assistant: It is refunded.', 'completed']],
  },
  {
    name: 'denied',
    messages: ['wipe the disk'],
    transcripts: [
      ['user: wipe the disk', 'assistant: ', 'wipe failed: tool call denied: no', 'assistant: Then not.', 'completed'],
    ],
  },
  {
    name: 'elicitation',
    messages: ['ask me'],
    transcripts: [['user: ask me', 'assistant: ', 'colour = "blue"', 'assistant: A fine colour.', 'completed']],
  },
  {
    name: 'expiry',
    messages: ['ask nobody'],
    transcripts: [
      [
        'user: ask nobody',
        'assistant: ',
        'nobody failed: tool call expired: no response',
        'assistant: Nobody is there.',
        'completed',
      ],
    ],
  },
  {
    name: 'gated-client-tool',
    messages: ['look at my screen'],
    transcripts: [
      [
        'user: look at my screen',
        'assistant: ',
        'screen = "a cat"',
        done('pay'),
        'assistant: I have seen it.',
        'completed',
      ],
    ],
  },
  {
    name: 'cancelled-while-streaming',
    messages: ['be cancelled', 'say hello'],
    transcripts: [['user: be cancelled', 'cancelled', 'user: say hello', 'assistant: Hello there.', 'completed']],
  },
  {
    name: 'cancelled-while-a-tool-runs',
    messages: ['work until cancelled', 'say it again'],
    transcripts: [
      [
        'user: work until cancelled',
        'assistant: It takes long.',
        done('pay'),
        'slow is unknown',
        'cancelled',
        'user: say it again',
        'assistant: Hello again.',
        'completed',
      ],
    ],
  },
  {
    name: 'steered',
    messages: ['be steered'],
    transcripts: [
      ['user: be steered', 'assistant: Go(steer) straight.', 'user: turn left', 'assistant: I turn left.', 'completed'],
      // The message was lost with its process, and the next model call saw what had come meanwhile.
      ['user: be steered', 'user: turn left', 'assistant: I turn left.', 'completed'],
    ],
  },
  {
    name: 'queued',
    messages: ['be queued behind'],
    transcripts: [
      [
        'user: be queued behind',
        'assistant: First(queue) this.',
        'completed',
        'user: then that',
        'assistant: Then that.',
        'completed',
      ],
    ],
  },
  {
    name: 'interrupted',
    messages: ['be interrupted'],
    transcripts: [
      [
        'user: be interrupted',
        'cancelled',
        'user: do this instead',
        'assistant: ',
        done('look'),
        'assistant: This instead.',
        'completed',
      ],
    ],
  },
  {
    name: 'durable-hook',
    messages: ['with a note'],
    agent: (host) => ({
      hooks: [
        preHook(
          'note',
          (turn) => {
            if (!host.isAlive()) return new Promise(() => {})
            return inject(turn, `note of ${turn.turnRef?.slice(-4) ?? 'nothing'}`)
          },
          { durable: true },
        ),
      ],
    }),
    transcripts: [
      [
        'user: with a note',
        'note: note of 0000',
        'assistant: ',
        done('look'),
        'note: note of 0001',
        'assistant: Noted and done.',
        'completed',
      ],
    ],
  },
  {
    name: 'regenerated',
    messages: ['be rude'],
    agent: () => ({
      hooks: [
        postHook('manners', ({ assistantMessage }) =>
          assistantMessage?.text === 'Shut up.' ? regenerate('Be polite.') : undefined,
        ),
      ],
    }),
    transcripts: [['user: be rude', 'assistant: ', 'feedback: Be polite.', 'assistant: Good day.', 'completed']],
  },
  {
    name: 'withheld',
    messages: ['say what must not be said', 'say hello'],
    agent: () => ({
      hooks: [
        postHook('guard', ({ assistantMessage }) =>
          assistantMessage?.text.includes('never said') ? halt('It must not be said.') : undefined,
        ),
      ],
    }),
    transcripts: [
      [
        ...['user: say what must not be said', 'assistant: ', 'halted'],
        ...['user: say hello', 'assistant: Hello there.', 'completed'],
      ],
    ],
  },
  {
    name: 'halted-by-a-tool',
    messages: ['finish it', 'say hello'],
    transcripts: [
      [
        ...['user: finish it', 'assistant: At once.', done('finish'), done('look'), 'halted'],
        ...['user: say hello', 'assistant: Hello there.', 'completed'],
      ],
      [
        ...['user: finish it', 'assistant: At once.', 'finish is unknown', done('look')],
        ...['assistant: It was cut off too often.', 'completed'],
        ...['user: say hello', 'assistant: Hello there.', 'completed'],
      ],
    ],
  },
  {
    name: 'kept-state',
    messages: ['keep both'],
    agent: () => keepsState,
    transcripts: [
      [
        ...['user: keep both', 'assistant: At once.', done('keep'), done('keep'), 'assistant: Both are kept.'],
        'completed',
      ],
    ],
  },
  {
    name: 'broken-off',
    messages: ['break off'],
    agent: () => retriesAtOnce,
    transcripts: [
      [...['user: break off', 'assistant: As I meant to say.', done('pay'), 'assistant: It is paid.', 'completed']],
    ],
  },
  {
    name: 'structured-output',
    messages: ['give me an object'],
    agent: () => ({
      output: { type: 'object', properties: { answer: { type: 'number' } }, required: ['answer'] },
    }),
    transcripts: [
      [
        'user: give me an object',
        'assistant: {"answer":"many"}',
        'feedback: Your answer does not fit the schema',
        'assistant: {"answer":42}',
        'object: {"answer":42}',
        'completed',
      ],
    ],
  },
  {
    name: 'long-day',
    title: 'A long day',
    triedAgain: { 'refund me': 'forced', 'never mind, break off': 'unforced' },
    messages: [
      'refund me',
      'be cancelled',
      'keep both',
      'break off',
      'ask me',
      'work until cancelled',
      'keep them too',
      'pay, look and book',
      'never mind, break off',
    ],
    agent: () => ({ ...keepsState, ...retriesAtOnce }),
    transcripts: [
      [
        ...['user: refund me', 'assistant: ', done('refund'), 'assistant: It is refunded.', 'completed'],
        ...['user: be cancelled', 'cancelled'],
        ...[
          'user: keep both',
          'assistant: At once.',
          done('keep'),
          done('keep'),
          'assistant: Both are kept.',
          'completed',
        ],
        ...['user: break off', 'assistant: As I meant to say.', done('pay'), 'assistant: It is paid.', 'completed'],
        ...['user: ask me', 'assistant: ', 'colour = "blue"', 'assistant: A fine colour.', 'completed'],
        ...['user: work until cancelled', 'assistant: It takes long.', done('pay'), 'slow is unknown', 'cancelled'],
        ...['user: keep them too', 'assistant: At once.', done('keep'), 'assistant: They are kept.', 'completed'],
        ...['user: pay, look and book', 'assistant: At once.', done('pay'), done('look'), done('book')],
        ...['assistant: All three are done.', 'completed'],
        ...['user: never mind, break off', 'assistant: As I meant to say.', 'completed'],
      ],
    ],
  },
  {
    name: 'tried-again',
    messages: ['do this instead', 'say hello', 'say it again'],
    triedAgain: { 'do this instead': 'unforced' },
    edits: { 'say hello': 'turn left' },
    transcripts: [
      [
        ...['user: do this instead', 'assistant: ', done('look'), 'assistant: This instead.', 'completed'],
        ...['user: turn left', 'assistant: I turn left.', 'completed'],
      ],
    ],
  },
  {
    name: 'tried-again-by-force',
    messages: ['refund me', 'pay, look, ship'],
    triedAgain: { 'refund me': 'forced' },
    edits: { 'pay, look, ship': 'say hello' },
    transcripts: [
      [
        ...['user: refund me', 'assistant: ', done('refund'), 'assistant: It is refunded.', 'completed'],
        ...['user: say hello', 'assistant: Hello there.', 'completed'],
      ],
    ],
  },
  {
    name: 'not-tried-again',
    messages: ['refund me', 'say hello'],
    unforcedEdits: { 'say hello': 'turn left', 'refund me': 'refund me once more' },
    transcripts: [
      [
        ...['user: refund me', 'assistant: ', done('refund'), 'assistant: It is refunded.', 'completed'],
        ...['user: turn left', 'assistant: I turn left.', 'completed'],
      ],
    ],
  },
  {
    name: 'edited-after-a-summary',
    messages: ['say hello', 'pay, look and book', 'say it again', 'refund me', 'turn left', 'ask me'],
    edits: { 'say it again': 'then that' },
    agent: () => ({
      context: { workingBudget: 100, windowTurns: 2, summarise: { model: scriptedModel('They talked.') } },
    }),
    transcripts: [
      [
        ...['user: say hello', 'assistant: Hello there.', 'completed'],
        ...['user: pay, look and book', 'assistant: At once.', done('pay'), done('look'), done('book')],
        ...['assistant: All three are done.', 'completed'],
        ...['user: then that', 'assistant: Then that.', 'completed'],
      ],
    ],
  },
  {
    name: 'titled-and-audited',
    messages: ['say hello', 'pay, look, ship'],
    agent: () => ({ title: { model: scriptedModel('A title') }, audit: 'records' }),
    transcripts: [
      [
        ...['user: say hello', 'assistant: Hello there.', 'completed', 'user: pay, look, ship'],
        ...['assistant: ', done('pay'), 'assistant: Then look.', done('look'), 'assistant: ', done('ship')],
        ...['assistant: One after the other.', 'completed'],
      ],
    ],
  },
  {
    name: 'summed-up',
    messages: ['say hello', 'pay, look and book', 'say it again', 'refund me', 'be cancelled', 'ask me'],
    agent: () => ({
      context: { workingBudget: 100, windowTurns: 2, summarise: { model: scriptedModel('They talked.') } },
    }),
    transcripts: [
      [
        ...['user: say hello', 'assistant: Hello there.', 'completed'],
        ...['user: pay, look and book', 'assistant: At once.', done('pay'), done('look'), done('book')],
        ...['assistant: All three are done.', 'completed'],
        ...['user: say it again', 'assistant: Hello again.', 'completed'],
        ...['user: refund me', 'assistant: ', done('refund'), 'assistant: It is refunded.', 'completed'],
        ...['user: be cancelled', 'cancelled'],
        ...['user: ask me', 'assistant: ', 'colour = "blue"', 'assistant: A fine colour.', 'completed'],
      ],
    ],
  },
]
