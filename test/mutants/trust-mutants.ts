import type { Case, Mutant } from './mutant.ts'

const anew = 'a log that was created again is told from the old one, though it is as long'
const anotherAgent = 'a conversation that was given to another agent is noticed, though its log is the same'
const anewIsLater = 'a conversation that is created again is later than the deleted one, however soon it comes'
const resting = (test: string): Case => ({ file: 'test/stories/working-sets-trusted.test.ts', test })
const channel = (test: string): Case => ({ file: 'src/engine/live/channel.test.ts', test })
const alone = (test: string): Case => ({ file: 'src/store/postgres/commit-one.test.ts', test })

/** Bugs in what lets a process go on with what it knows, and in what makes sure of it. */
export const trustMutants: readonly Mutant[] = [
  {
    name: 'trust: sqlite does not compare the time of the last event',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: 'if (head && change.expectedAt !== null && timeOf(db, head.cid, lastSeq) !== change.expectedAt)',
        replace: 'if (head && change.expectedAt !== null && timeOf(db, head.cid, lastSeq) === undefined)',
      },
    ],
    killedBy: [{ file: 'src/store/sqlite/sqlite-store.test.ts', test: anew }],
  },
  {
    name: 'trust: the function of postgres does not compare the time of the last event',
    edits: [
      {
        file: 'src/store/postgres/commit-function.ts',
        find: 'x.expected_at IS NOT NULL AND NOT EXISTS',
        replace: 'false AND NOT EXISTS',
      },
    ],
    killedBy: [{ file: 'src/store/postgres/postgres-store.test.ts', test: anew }, alone('at another time')],
  },
  {
    name: 'trust: a lone commit on postgres does not compare the time of the last event',
    edits: [
      {
        file: 'src/store/postgres/commit-change.ts',
        find: 'AND seq = $3 AND at = ',
        replace: 'AND seq = $3 AND at <> 1 OR 0 = ',
      },
    ],
    killedBy: [{ file: 'src/store/postgres/postgres-store.test.ts', test: anew }, alone('at another time')],
  },
  {
    name: 'trust: a lone commit on postgres takes a lease that another has',
    edits: [
      {
        file: 'src/store/postgres/commit-change.ts',
        find: 'AND coalesce(c.leased_until, 0) <= ',
        replace: 'AND 0 <= ',
      },
    ],
    killedBy: [alone('a lease that is taken')],
  },
  {
    name: 'trust: a lone commit on postgres does not look for its key',
    edits: [
      {
        file: 'src/store/postgres/commit-change.ts',
        find: `AND key = \${key.name})`,
        replace: `AND key = \${key.name} AND false)`,
      },
    ],
    killedBy: [alone('a known key')],
  },
  {
    name: 'trust: a lone commit on postgres fails where its key was taken while it waited',
    edits: [{ file: 'src/store/postgres/commit-change.ts', find: '.catch(noneIfKeyIsTaken)', replace: '' }],
    killedBy: [
      alone('with the same key all get the answer of the first, without'),
      alone('with the same key, wherever it ends, all get the answer of the first'),
      alone('one whose key another has used for nothing but itself is told so'),
    ],
  },
  {
    name: 'trust: what is begun anew in memory has the times of what was deleted',
    edits: [{ file: 'src/store/memory/memory-tables.ts', find: '  freeId(tables, row, now)\n', replace: '' }],
    killedBy: [{ file: 'src/store/memory/memory-store.test.ts', test: anewIsLater }],
  },
  {
    name: 'trust: a message does not say which log it was decided on',
    edits: [
      {
        file: 'src/runtime/send-message.ts',
        find: 'expectedAt: known.lastAt, ',
        replace: '',
      },
    ],
    killedBy: [resting('is not taken for one that was deleted elsewhere and begun anew, though that is as long')],
  },
  {
    name: 'trust: a message does not say which agent it was decided on',
    edits: [{ file: 'src/runtime/send-message.ts', find: ', expectedAgent: agent.name', replace: '' }],
    killedBy: [resting('is refused to its former agent once another process has given it to another')],
  },
  {
    name: 'trust: an agent works on what it was refused',
    edits: [
      {
        file: 'src/engine/lease/worker.ts',
        find: 'if (name !== null) this.#look()',
        replace: 'if (name !== null) void this.take(ref, name)',
      },
    ],
    killedBy: [resting('is not worked on by an agent it was refused to')],
  },
  {
    name: 'trust: sqlite does not compare the agent',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: 'change.expectedAgent !== null && head?.agent !== change.expectedAgent',
        replace: 'change.expectedAgent !== null && !head?.agent',
      },
    ],
    killedBy: [{ file: 'src/store/sqlite/sqlite-store.test.ts', test: anotherAgent }],
  },
  {
    name: 'trust: the function of postgres does not compare the agent',
    edits: [
      {
        file: 'src/store/postgres/commit-function.ts',
        find: 'x.expected_agent IS NOT NULL AND',
        replace: 'false AND',
      },
    ],
    killedBy: [{ file: 'src/store/postgres/postgres-store.test.ts', test: anotherAgent }, alone('by another agent')],
  },
  {
    name: 'trust: a lone commit on postgres does not compare the agent',
    edits: [
      {
        file: 'src/store/postgres/commit-change.ts',
        find: 'AND c.agent = ',
        replace: "AND coalesce(c.agent, 'x') <> '' OR '' = ",
      },
    ],
    killedBy: [{ file: 'src/store/postgres/postgres-store.test.ts', test: anotherAgent }, alone('by another agent')],
  },
  {
    name: 'trust: what is heard of a conversation before it is taken up is forgotten',
    edits: [
      {
        file: 'src/engine/lease/worker.ts',
        find: 'isOver ? null : lease, expected.hintedSeq)',
        replace: 'isOver ? null : lease)',
      },
    ],
    killedBy: [resting('what another writer appends before it is resumed is not missed')],
  },
  {
    name: 'trust: what the owner reads is not told to watchers that began with what it knew',
    edits: [{ file: 'src/engine/turn/owner.ts', find: 'else this.#channel.hint(state.lastSeq)', replace: '' }],
    killedBy: [
      resting(
        'a waiter learns of an end that another process wrote before the wait began, while the owner here reads it',
      ),
    ],
  },
  {
    name: 'trust: an owner that has lost the conversation leaves those who began with what it knew',
    edits: [{ file: 'src/engine/turn/owner.ts', find: '    this.#channel.hint(lastSeq)\n', replace: '' }],
    killedBy: [
      resting(
        'a waiter learns of an end that another process wrote before the wait began, while the owner here writes',
      ),
    ],
  },
  {
    name: 'trust: what was heard of a log that is no more is asked for without end',
    edits: [{ file: 'src/store/log-pages.ts', find: '    this.#hintedSeq = 0\n    try', replace: '    try' }],
    killedBy: [resting('what was heard of the log before, which was longer, is asked for once')],
  },
  {
    name: 'trust: an outcome is told from what the owner knew last',
    edits: [
      {
        file: 'src/engine/live/child-tree.ts',
        find: 'channel.beginAt(writtenSeq) && found() === null\n      if (isWaiting) isUpToDate = true\n',
        replace: 'channel.beginAt(writtenSeq)\n      if (isWaiting) begin()\n',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/live/follow.test.ts',
        test: 'it waits with what the owner here knows, and never answers from it',
      },
    ],
  },
  {
    name: 'trust: a channel begins with what its owner knows while it is being read',
    edits: [
      {
        file: 'src/engine/live/channel.ts',
        find: 'if (!this.#workingSet && this.#reading !== null) return false',
        replace: '',
      },
    ],
    killedBy: [channel('not while another listener has begun to read, which is told what is live then')],
  },
]
