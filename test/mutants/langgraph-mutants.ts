import type { Case, Mutant } from './mutant.ts'

const saver = (test: string): Case => ({ file: 'src/langgraph/perdure-saver.test.ts', test })

const deleted = saver(
  'a thread that another process has deleted and begun again with as many checkpoints under a running graph loses nothing of what the graph puts',
)

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'a checkpoint is put wherever the log ends',
    'src/langgraph/perdure-saver.ts',
    'thread.append(record, this.#values.endOf(thread))',
    'thread.append(record, null)',
    deleted,
  ],
  [
    'a log is told from another one by its length alone',
    'src/store/record-log.ts',
    '{ expectedSeq: end.seq, expectedAt: end.at }',
    '{ expectedSeq: end.seq }',
    deleted,
  ],
  [
    'what is remembered of a thread outlives its log',
    'src/langgraph/channel-values.ts',
    '    this.forget(thread)\n    if (end) this.#ends.set',
    '    if (end) this.#ends.set',
    saver(
      'a thread that another process has deleted and begun again with more, which its saver has read, under a running graph loses nothing of what the graph puts',
    ),
  ],
  [
    'channels that did not change are lost without the checkpoint before',
    'src/langgraph/channel-values.ts',
    '[...changed, ...kept.filter((one) => !places.get(one))]',
    '[...changed]',
    saver('a checkpoint whose parent is not in the thread has its unchanged channels too'),
  ],
  [
    'a value that cannot be read again is put',
    'src/langgraph/perdure-saver.ts',
    "if (dumped.format !== 'json' || !isLost) return dumped",
    'if (!isLost || isLost) return dumped',
    saver('a function is refused, since the thread could not be read again as it was'),
  ],
  [
    'a note of a person is a record',
    'src/store/record-log.ts',
    ' || event.content.who !== writer',
    '',
    saver('notes that others left under its name are passed over, also those that look like records'),
  ],
]

/** Bugs of the checkpoint saver: each loses, mixes up or invents what a thread holds. */
export const langgraphMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `langgraph: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
