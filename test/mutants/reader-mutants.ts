import type { Case, Mutant } from './mutant.ts'

const answers = (test: string): Case => ({ file: 'test/server/answer-bytes.test.ts', test })

/** Bugs in how many readers of large logs share a process. */
export const readerMutants: readonly Mutant[] = [
  {
    name: 'a log that ends with a large event is read for ever',
    edits: [
      {
        file: 'src/engine/live/log-poll.ts',
        find: 'hasMore: page.hasMore && events.length > 0',
        replace: 'hasMore: page.hasMore',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/live/channels.test.ts',
        test: 'a log that ends with a large event is read to its end, and no further',
      },
    ],
  },
  {
    name: 'all that read go on together, and keep everybody else waiting',
    edits: [
      {
        file: 'src/store/log-pages.ts',
        find: 'lastYield = lastYield.then(() => nextMacrotask())',
        replace: 'lastYield = nextMacrotask()',
      },
    ],
    killedBy: [
      {
        file: 'src/store/for-each-page.test.ts',
        test: 'of many concurrent readers, one continues before the rest of the process gets its turn',
      },
    ],
  },
  {
    name: 'an idle connection is closed on a request that has come',
    edits: [
      {
        file: 'src/server/serve.ts',
        find: 'if (socket.timeout !== 0) socket.destroy()',
        replace: 'socket.destroy()',
      },
    ],
    killedBy: [
      {
        file: 'src/server/read-before-closing.test.ts',
        test: 'a request that came in time is answered, though the process was too busy to see it',
      },
    ],
  },
  {
    name: 'how turns stand is read without room for it',
    edits: [
      {
        file: 'src/server/byte-budget.ts',
        find: 'const reservation = await server.byteBudget.reserve(answerBytes, { signal: request.signal, waitMs })',
        replace:
          "const isOutcome = request.url.includes('/outcome')\n  const reservation = await server.byteBudget.reserve(isOutcome ? 0 : answerBytes, { signal: request.signal, waitMs })",
      },
    ],
    killedBy: [answers('a request for the outcome of a turn reserves memory like any other')],
  },
  {
    name: 'those who wait for a turn hold as much room as an answer',
    edits: [
      {
        file: 'src/server/routes/turns.ts',
        find: 'reservation.keep(stateWeight(view.log), () => enough.abort())',
        replace: 'reservation.keep(answerBytes, () => {})',
      },
    ],
    killedBy: [answers('those who wait for a turn hold what they know of it, and make room where others need it')],
  },
  {
    name: 'a reader of a page holds the event before it',
    edits: [
      {
        file: 'src/runtime/read/turn-events.ts',
        find: "return before?.type === 'withheld' ? before : null",
        replace: 'return before ?? null',
      },
    ],
    killedBy: [
      {
        file: 'src/runtime/read/shown-events.test.ts',
        test: 'of what comes before a page, only the mark of its first message is held',
      },
    ],
  },
  {
    name: 'a client that takes everything at once has the process to itself',
    edits: [{ file: 'src/server/node/to-node-listener.ts', find: 'await yieldToEventLoop()', replace: '' }],
    killedBy: [
      {
        file: 'src/server/node/send-response.test.ts',
        test: 'a client that takes everything at once does not have the process to itself',
      },
    ],
  },
]
