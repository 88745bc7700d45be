import type { Case, Mutant } from './mutant.ts'

const flaky = (test: string): Case => ({ file: 'test/stories/working-sets-flaky-store.test.ts', test })

/** Bugs in the core that no test found when random ones were drawn: a failed condition, a dropped check, an end of a loop. */
export const coreMutants: readonly Mutant[] = [
  {
    name: 'a summary of a deleted conversation is shown in the one that has its name now',
    edits: [{ file: 'src/engine/turn/background-calls.ts', find: 'if (memory.origin !== origin) return', replace: '' }],
    killedBy: [
      {
        file: 'test/stories/context-summary.test.ts',
        test: 'that is acknowledged after its conversation was deleted does not come back either',
      },
    ],
  },
  {
    name: 'a read that fails counts as a store that is closed, and what runs is let go',
    edits: [
      {
        file: 'src/engine/turn/owner.ts',
        find: "if (!PerdureError.isInstance(error) || error.code !== 'store_closed') return super",
        replace: 'if (!PerdureError.isInstance(error)) return super',
      },
    ],
    killedBy: [
      flaky('a read of the log that fails while a tool runs stops nothing: the tool ends, and its result is recorded'),
    ],
  },
  {
    name: 'an older page of history has nothing of its turns that came after it',
    edits: [
      {
        file: 'src/runtime/read/read-history.ts',
        find: 'return readRest(store, id, page, before, maxBytes)',
        replace: 'return page',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/turns-history.test.ts',
        test: 'has an older page while its turn is still open, and once it has ended',
      },
    ],
  },
  {
    name: 'the bytes of files that durable hooks added are not read',
    edits: [
      {
        file: 'src/prompt/render/render-context.ts',
        find: "      else if (item.type === 'injection') add(item.parts)\n",
        replace: '',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/hooks-durable.test.ts',
        test: 'that adds a file by its bytes in the store leaves it in the log, where every later prompt has it',
      },
    ],
  },
  {
    name: 'a body is as deep as it has brackets',
    edits: [
      {
        file: 'src/server/guard/read-body.ts',
        find: 'else if (code === closeBracket || code === closeBrace) depth -= 1',
        replace: 'else if (code === closeBracket && code === closeBrace) depth -= 1',
      },
    ],
    killedBy: [{ file: 'test/server/security.test.ts', test: 'a list of a hundred lists is not deep' }],
  },
  {
    name: 'a bracket in a text makes a body deeper',
    edits: [
      {
        file: 'src/server/guard/read-body.ts',
        find: 'if (code === backslash) index += 1\n      else if',
        replace: 'if',
      },
    ],
    killedBy: [
      { file: 'test/server/security.test.ts', test: 'a text with a quote and a hundred brackets is not deep' },
    ],
  },
  {
    name: 'other processes are watched after the last listener has left',
    edits: [
      {
        file: 'src/store/expiry-loop.ts',
        find: 'if (this.#listeners.size > 0) return',
        replace: 'if (this.#listeners.size >= 0) return',
      },
    ],
    killedBy: [
      {
        file: 'src/store/hint-bus.test.ts',
        test: 'other processes are watched from the first listener to the last, and again when one comes back',
      },
    ],
  },
  {
    name: 'whatever is called toJSON is called',
    edits: [
      {
        file: 'src/define/normalise-result.ts',
        find: "'toJSON' in value && typeof value.toJSON === 'function'",
        replace: "'toJSON' in value && typeof value.toJSON !== 'undefined'",
      },
    ],
    killedBy: [{ file: 'src/define/normalise-result.test.ts', test: 'toJSON that is no function is recorded' }],
  },
  {
    name: 'a session can be forked after its runtime was closed',
    edits: [
      {
        file: 'src/runtime/flow-session.ts',
        find: 'runtime.assertOpen()\n      const { at, run = false } = readOptions',
        replace: 'const { at, run = false } = readOptions',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/working-sets-close.test.ts',
        test: 'leaves what is there to be read, and refuses every verb that writes',
      },
    ],
  },
]
