import type { Case, Mutant } from './mutant.ts'

const processes = (test: string): Case => ({ file: 'test/stories/children-processes.test.ts', test })
const doctor = (test: string): Case => ({ file: 'test/upkeep/family.test.ts', test })

/** Bugs in how a child agent and its parent hear of each other. */
export const childMutants: readonly Mutant[] = [
  {
    name: 'a child that a process starts late, while its parent is cancelled elsewhere, waits for ever',
    edits: [
      {
        file: 'src/engine/child/child-calls.ts',
        find: 'keptMessages(turn).length === 0 ? await cancellerOf(parts, conversationId) : null',
        replace: 'null as string | null',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/child/admit-child.test.ts',
        test: 'a child that has said nothing yet and whose parent is being cancelled is asked to end for the one who cancelled',
      },
    ],
  },
  {
    name: 'children: a child tells its parent before its own end is committed',
    edits: [
      {
        file: 'src/engine/turn/drive.ts',
        find: 'if (events.length > 0 || parks) {',
        replace:
          "if (events.length > 0 || parks) {\n      await owner.attempt('telling', () => owner.children.settle(after))",
      },
    ],
    killedBy: [
      processes('a process that lost a child tells its parent nothing: the parent reads what the child log says'),
    ],
  },
  {
    name: 'children: a child that has ended parks before its parent knows',
    edits: [
      {
        file: 'src/engine/child/child-calls.ts',
        find: 'return this.#endedUntold(state) !== null || this.#unstarted(state).length > 0',
        replace: 'return this.#unstarted(state).length > 0',
      },
    ],
    killedBy: [
      processes('a child that ended and whose process died before it told its parent tells it in the next process'),
    ],
  },
  {
    name: 'children: a child of version 0.1 that told its parent is cancelled',
    edits: [
      {
        file: 'src/engine/child/child-calls.ts',
        find: 'if (endOf(turnId, decide(state, new Set(), []).events)) return true',
        replace: '',
      },
    ],
    killedBy: [
      processes(
        'a child of an earlier version that told its parent and died before it recorded its end ends as it told',
      ),
    ],
  },
  {
    name: 'children: the doctor does not wake a child whose parent waits in vain',
    edits: [{ file: 'src/upkeep/finish-examination.ts', find: 'if (isPending) return true', replace: '' }],
    killedBy: [
      doctor('a child that ended while its parent waits and nothing wakes it is found, and a repair lets it tell'),
    ],
  },
  {
    name: 'children: the doctor does not end a child whose call has ended',
    edits: [
      {
        file: 'src/upkeep/finish-examination.ts',
        find: 'if (!turn.end) return !isPending && !turn.cancel',
        replace: 'if (!turn.end) return false',
      },
    ],
    killedBy: [doctor('a child that waits for a person while its call has ended is found, and a repair ends it')],
  },
  {
    name: 'children: the doctor does not compare what the parent was told',
    edits: [
      {
        file: 'src/upkeep/finish-examination.ts',
        find: '!isDeepStrictEqual(recorded, result) &&',
        replace: 'recorded === undefined &&',
      },
    ],
    killedBy: [doctor('a child that ended in another way than its parent was told is found')],
  },
]
