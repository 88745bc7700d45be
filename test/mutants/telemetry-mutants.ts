import type { Case, Mutant } from './mutant.ts'

const story = (test: string): Case => ({ file: 'test/stories/telemetry.test.ts', test })
const spans = (test: string): Case => ({ file: 'src/telemetry/turn-spans.test.ts', test })
const counts = (test: string): Case => ({ file: 'src/telemetry/prometheus.test.ts', test })
const http = (test: string): Case => ({ file: 'test/server/traceparent.test.ts', test })

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'the words of a turn are in its spans without being asked for',
    'src/telemetry/span-record.ts',
    'if (!isAsked) return {}',
    '',
    story('has no words in it, unless they are asked for'),
  ],
  [
    'the whole log of a large turn is read for its spans',
    'src/telemetry/rest-reader.ts',
    'before: lastSeq + 1, maxBytes: mostBytes }',
    'before: lastSeq + 1 }',
    {
      file: 'src/telemetry/rest-reader.test.ts',
      test: 'of a turn that is larger than the process, the newest events are read, and the first',
    },
  ],
  [
    'the work before a wait is told again after it',
    'src/telemetry/span-record.ts',
    'rests && isOwners && seq <= heldFrom && marks[index + 1]?.wakes === true',
    'rests && isOwners && seq < 0 && marks[index + 1]?.wakes === true',
    spans('work before a rest that was told is not told again'),
  ],
  [
    'a rest that no process took is taken for told',
    'src/telemetry/span-record.ts',
    'rests && isOwners && seq <= heldFrom && marks',
    'rests && isOwners && marks',
    spans('an answer that came before the owner let go was no rest: all of the turn is told'),
  ],
  [
    'a wait is part of the work',
    'src/telemetry/turn-spans.ts',
    'span.operation === operations.wait || span.startAt < startAt',
    'span.startAt < startAt',
    spans('an answer that came before the owner let go was no rest: all of the turn is told'),
  ],
  [
    'a turn that waits is told only when it ends',
    'src/engine/turn/observed-turns.ts',
    'if (open) this.#rests(open, after.lastSeq)',
    '',
    story('tells the work before a wait while it waits, and the wait apart from the work after it'),
  ],
  [
    'an observer that throws fails what it observes',
    'src/engine/observer.ts',
    "logger.warn('an observer threw', { error })\n      return undefined",
    'throw error',
    { file: 'src/engine/observer.test.ts', test: 'what one observer throws is logged, and the others are told' },
  ],
  [
    'a child agent begins a trace of its own',
    'src/engine/child/child-family.ts',
    'node.observer ? await traceAt(store, id, turn.firstSeq) : {}',
    '{}',
    story('of a child agent belongs to the trace of its parent'),
  ],
  [
    'the header of a request is recorded as it is',
    'src/server/answer.ts',
    'return isTraceparent(traceparent) ? { traceparent } : {}',
    'return traceparent ? { traceparent } : {}',
    http('the header traceparent counts as absent when it is none'),
  ],
  [
    'pages see the trace of a message',
    'src/view/disclose.ts',
    'if (content.traceparent === undefined) return content',
    'return content',
    http('pages do not see the trace of a message'),
  ],
  [
    'every name that a model makes up is a series',
    'src/telemetry/measure.ts',
    "if (known.size >= mostValues) return '_OTHER'",
    '',
    counts('keeps at most 200 values of a name, and counts the rest together'),
  ],
  [
    'logs to read pile up without a limit',
    'src/telemetry/rest-reader.ts',
    'this.#waiting.length >= mostWaiting',
    'false',
    counts('drops what comes when too many logs wait to be read, and holds no more of them'),
  ],
]

/** Bugs in what is told of turns to telemetry. */
export const telemetryMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `telemetry: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
