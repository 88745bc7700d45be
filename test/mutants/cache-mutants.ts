import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const reference: Case = {
  file: 'test/reference-store/reference-store.test.ts',
  test: 'the memory store does what the reference store does',
}

/** Bugs that let a cache, a summary or a repair overrule the log. */
export const cacheMutants: readonly Mutant[] = [
  {
    name: 'caches: memory: a summary may reach past the end of the log',
    edits: [
      {
        file: 'src/store/memory/memory-store.ts',
        find: 'if (summary.toSeq > lastSeq) return { pastEnd: lastSeq }',
        replace: 'if (summary.toSeq > lastSeq + 999) return { pastEnd: lastSeq }',
      },
    ],
    killedBy: [
      memory('a summary that reaches past the end of the log is refused, and what comes later is read'),
      reference,
    ],
  },
  {
    name: 'caches: sqlite: a summary may reach past the end of the log',
    edits: [
      {
        file: 'src/store/sqlite/records.ts',
        find: 'if (toSeq > conversation.lastSeq) return',
        replace: 'if (toSeq > conversation.lastSeq + 1) return',
      },
    ],
    killedBy: [
      {
        file: 'src/store/sqlite/sqlite-store.test.ts',
        test: 'a summary that reaches past the end of the log is refused, and what comes later is read',
      },
    ],
  },
  {
    name: 'caches: postgres: a summary past the end of the log is written',
    edits: [
      {
        file: 'src/store/postgres/records.ts',
        find: 'if (toSeq > log.lastSeq) return',
        replace: 'if (toSeq > log.lastSeq + 9) return',
      },
    ],
    killedBy: [
      {
        file: 'src/store/postgres/postgres-store.test.ts',
        test: 'a summary that reaches past the end of the log is refused, and what comes later is read',
      },
    ],
  },
  {
    name: 'caches: a state that was put from outside is planned on',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: 'if (!fsmState || (epoch === undefined && expectedSeq === undefined)) return {}',
        replace: 'if (!fsmState) return {}',
      },
      {
        file: 'src/store/tenant-store.ts',
        find: 'await write(id, { events: [], conversation: { fsmState } })',
        replace: 'await write(id, { events: [], fsmState })',
      },
    ],
    killedBy: [
      memory('standing is set by commits that know the log, never by a cached state'),
      { file: 'test/stories/turns-told-state.test.ts', test: 'lets no message into a conversation that is busy' },
    ],
  },
  {
    name: 'caches: postgres: a commit that only appends does not tell that nothing is open',
    edits: [
      {
        file: 'src/store/postgres/commit-change.ts',
        find: 'idle_seq = coalesce($12::bigint, c.idle_seq)',
        replace: 'idle_seq = coalesce(c.idle_seq, $12::bigint)',
      },
    ],
    killedBy: [
      {
        file: 'src/store/postgres/postgres-store.test.ts',
        test: 'standing is set by commits that know the log, never by a cached state',
      },
    ],
  },
  {
    name: 'caches: sqlite: a commit does not tell that something is open again',
    edits: [
      {
        file: 'src/store/sqlite/conversations.ts',
        find: 'const idleSeq = attrs.idleSeq ?? null',
        replace: 'const idleSeq = attrs.idleSeq || null',
      },
    ],
    killedBy: [
      {
        file: 'src/store/sqlite/sqlite-store.test.ts',
        test: 'standing is set by commits that know the log, never by a cached state',
      },
    ],
  },
  {
    name: 'caches: a log is read on from a base of another seq',
    edits: [
      {
        file: 'src/store/records.ts',
        find: 'return base?.lastSeq === toSeq && Array.isArray(base.turns) ? base : null',
        replace: 'return base',
      },
    ],
    killedBy: [{ file: 'src/store/working-sets.test.ts', test: 'a base that is not of its seq is left aside' }],
  },
]
