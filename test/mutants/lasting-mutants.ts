import type { Mutant } from './mutant.ts'

/** Bugs in what a node does when its store fails for good. */
export const lastingMutants: readonly Mutant[] = [
  {
    name: 'lasting: what failed is tried again at once',
    edits: [
      {
        file: 'src/engine/lease/skipped-conversations.ts',
        find: 'until: this.#now() + delayAfter(failures, delays)',
        replace: 'until: this.#now() + delayAfter(failures, delays) * 0',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/lease/skipped-conversations.test.ts',
        test: 'a conversation whose work failed is set aside for longer and longer, until it goes well',
      },
    ],
  },
  {
    name: 'lasting: the pauses do not grow',
    edits: [
      {
        file: 'src/engine/lease/skipped-conversations.ts',
        find: 'delayAfter(failures, delays)',
        replace: 'delayAfter(1, delays)',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/lease/skipped-conversations.test.ts',
        test: 'a conversation whose work failed is set aside for longer and longer, until it goes well',
      },
    ],
  },
  {
    name: 'lasting: an owner replaces what a store that fails for good refuses, without an end',
    edits: [
      {
        file: 'src/engine/turn/pending-outcomes.ts',
        find: "if (errorCodes[error.code].family === 'store' || this.#inARow > mostInARow) throw error",
        replace: "if (errorCodes[error.code].family === 'store' && this.#inARow < 0) throw error",
      },
    ],
    killedBy: [
      {
        file: 'src/engine/turn/instead-of-refused.test.ts',
        test: 'what a store that fails for good refuses is not replaced, and neither is a third refusal in a row',
      },
    ],
  },
  {
    name: 'lasting: deadlines that cannot be written are tried without a pause',
    edits: [
      {
        file: 'src/store/expiry-loop.ts',
        find: "if (results.some(({ status }) => status === 'rejected')) this.#backoff.failed()",
        replace:
          "if (results.some(({ status }) => status !== 'rejected' && status !== 'fulfilled')) this.#backoff.failed()",
      },
    ],
    killedBy: [
      {
        file: 'src/store/expiry-loop.test.ts',
        test: 'calls that cannot be ended, however many are due, are tried after longer and longer pauses',
      },
    ],
  },
  {
    name: 'lasting: each text of a failure is told of',
    edits: [{ file: 'src/base/logger.ts', find: 'const maxTexts = 5', replace: 'const maxTexts = 500' }],
    killedBy: [
      { file: 'src/base/logger.test.ts', test: 'failures whose texts all differ are told of five times a minute' },
    ],
  },
  {
    name: 'lasting: a search for work that failed is made again at the next hint',
    edits: [
      {
        file: 'src/engine/lease/work-search.ts',
        find: 'this.#notBefore = monotonic(this.#node.clock) + this.#failures.waitMs',
        replace: 'this.#notBefore = 0',
      },
    ],
    killedBy: [
      {
        file: 'test/faults/lasting-error.test.ts',
        test: 'a store that fails for good is left alone for longer and longer, and told of sparingly: the file is damaged',
      },
    ],
  },
  {
    name: 'lasting: close waits until all is let go of',
    edits: [
      { file: 'src/engine/lease/shutdown.ts', find: 'const letGoMs = 2_000', replace: 'const letGoMs = 200_000' },
    ],
    killedBy: [
      {
        file: 'test/faults/closing.test.ts',
        test: 'close returns in its time after a commit of a start whose fate is unknown',
      },
    ],
  },
]
