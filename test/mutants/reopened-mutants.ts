import type { Case, Mutant } from './mutant.ts'

const changes = 'src/runtime/authorize/authorized-verbs.ts'
const gate = 'src/runtime/authorize/gate.ts'
const verbs = 'src/runtime/authorize/authorized-verbs.ts'
const reopened = (test: string): Case => ({ file: 'test/server/reopened.test.ts', test })
const changed = (test: string): Case => ({ file: 'src/runtime/authorize/allowed-changes.test.ts', test })
const story = (test: string): Case => ({ file: 'test/stories/authorize.test.ts', test })

/** Bugs in what `authorize` hides of ids that are given again, and of words in hidden titles. */
export const reopenedMutants: readonly Mutant[] = [
  {
    name: 'a slow watcher that reads what it missed is told of the log that has the name by now',
    edits: [
      {
        file: 'src/runtime/read/watch.ts',
        find: 'if (!isFirst && end.at !== null &&',
        replace: 'if (isFirst && !isFirst && end.at !== null &&',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/authorize-new.test.ts',
        test: 'tells a slow watcher nothing of what another user opens there, while it still reads what it missed',
      },
    ],
  },
  {
    name: 'a live stream goes on with what another user opens under the id of a deleted conversation',
    edits: [
      {
        file: 'src/server/live/feed.ts',
        find: 'if (subscription.isJudged) subscription.cut()',
        replace: 'void subscription',
      },
    ],
    killedBy: [
      reopened(
        'the stream of a conversation tells nothing of what another user opens under the same id once it was deleted',
      ),
    ],
  },
  {
    name: 'what a client was still to read of a log goes on after its permission was taken away',
    edits: [
      { file: 'src/server/live/subscription.ts', find: '    this.#drop()\n    this.end()', replace: '    this.end()' },
    ],
    killedBy: [
      {
        file: 'src/server/live/subscription.test.ts',
        test: 'a stream that is cut off sends nothing of what its client has not taken yet',
      },
    ],
  },
  {
    name: 'the feed of a tenant keeps its verdict about an id for the next conversation of that name',
    edits: [
      { file: changes, find: 'known?.record.createdAt === record.createdAt &&', replace: 'known !== undefined || ' },
    ],
    killedBy: [
      changed('a verdict about a deleted conversation is not one about what another user opened under its id'),
    ],
  },
  {
    name: 'the feed of a tenant goes on asking about the row that it saw first',
    edits: [{ file: changes, find: '    verdict.record = record\n', replace: '' }],
    killedBy: [changed('after 30 seconds it is asked about the conversation as it is by then, and not before')],
  },
  {
    name: 'a child agent that is gone is judged as what does not exist',
    edits: [
      { file: gate, find: '((await this.#rootOf(record.id)) ?? record)', replace: '(await this.#rootOf(record.id))' },
    ],
    killedBy: [
      changed('a child agent that is gone with its parent is judged by its row, and not as what does not exist'),
    ],
  },
  {
    name: 'the store looks for text in titles that the caller must not read',
    edits: [{ file: verbs, find: '        delete rest.text\n', replace: '' }],
    killedBy: [
      story('a search finds what may be read, and does not tell by its cursor which words hidden titles have'),
    ],
  },
]
