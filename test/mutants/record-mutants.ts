import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const meta = (test: string): Case => ({ file: 'test/stories/contract-meta.test.ts', test })

/** Bugs in what records may say: titles, statuses, summaries, and what an application attaches. */
export const recordMutants: readonly Mutant[] = [
  {
    name: 'an unknown member of a call is dropped in silence',
    edits: [
      {
        file: 'src/base/errors/read-options.ts',
        find: 'if (unknown === undefined) return read',
        replace: "if (unknown === undefined || name === 'call') return read",
      },
    ],
    killedBy: [memory('an unknown member of a call is refused with its name, and nothing is written')],
  },
  {
    name: 'an unknown member of a model call is dropped in silence',
    edits: [
      {
        file: 'src/base/errors/read-options.ts',
        find: 'if (unknown === undefined) return read',
        replace: "if (unknown === undefined || name === 'model call') return read",
      },
    ],
    killedBy: [memory('an unknown member of a model call, a summary or a conversation is refused with its name')],
  },
  {
    name: 'a call may name another conversation than the one it is written to',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: 'if (call.conversationId !== undefined && call.conversationId !== conversationId)',
        replace: 'if (call.conversationId !== undefined && conversationId === undefined)',
      },
    ],
    killedBy: [memory('a call that names another conversation than the one it is written to is refused')],
  },
  {
    name: 'meta has no bound',
    edits: [
      { file: 'src/store/rows.ts', find: 'if (bytes > maxMetaBytes)', replace: 'if (bytes > maxMetaBytes * 1_000)' },
    ],
    killedBy: [memory('what is not an object, or is too large, is refused and changes nothing')],
  },
  {
    name: 'a list passes as meta',
    edits: [
      {
        file: 'src/store/rows.ts',
        find: "if (typeof meta !== 'object' || Array.isArray(meta))",
        replace: "if (typeof meta !== 'object')",
      },
    ],
    killedBy: [memory('what is not an object, or is too large, is refused and changes nothing')],
  },
  {
    name: 'memory: the next round of a call forgets its meta',
    edits: [
      {
        file: 'src/store/memory/commit-change.ts',
        find: 'meta: columns.meta ?? known?.meta ?? null,',
        replace: 'meta: columns.meta ?? null,',
      },
    ],
    killedBy: [
      memory('a call keeps its meta until another one is written, and null removes it'),
      meta('stays through its rounds and its answer, and no prompt and no page shows it'),
    ],
  },
  {
    name: 'sqlite: the next round of a call forgets its meta',
    edits: [
      {
        file: 'src/store/sqlite/events.ts',
        find: 'meta = coalesce(excluded.meta, calls.meta)',
        replace: 'meta = excluded.meta',
      },
    ],
    killedBy: [sqlite('a call keeps its meta until another one is written, and null removes it')],
  },
  {
    name: 'postgres: the next round of a call forgets its meta',
    edits: [
      {
        file: 'src/store/postgres/commit-function.ts',
        find: 'meta = coalesce(excluded.meta, t.meta)',
        replace: 'meta = excluded.meta',
      },
    ],
    killedBy: [postgres('a call keeps its meta until another one is written, and null removes it')],
  },
  {
    name: 'a repair of a call row forgets its meta',
    edits: [
      {
        file: 'src/upkeep/repair-conversation.ts',
        find: '[callId, { meta }]',
        replace: '[callId, { meta: meta && null }]',
      },
    ],
    killedBy: [meta('is no fault to the doctor, and a repair of the row keeps it')],
  },
  {
    name: 'an export leaves out the meta of calls',
    edits: [
      {
        file: 'src/upkeep/export-line.ts',
        find: '{ name, args, result, prompt, meta },',
        replace: '{ name, args, result, prompt, meta: meta && null },',
      },
    ],
    killedBy: [meta('is in an export and back after an import')],
  },
]
