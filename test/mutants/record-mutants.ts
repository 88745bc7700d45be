import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const meta = (test: string): Case => ({ file: 'test/stories/contract-meta.test.ts', test })
const titles = (test: string): Case => ({ file: 'test/stories/contract-titles.test.ts', test })

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
        find: '{ name, args, result, prompt, notice, meta },',
        replace: '{ name, args, result, prompt, notice, meta: meta && null },',
      },
    ],
    killedBy: [meta('is in an export and back after an import')],
  },
  {
    name: 'putConversation writes a title to the row alone',
    edits: [
      {
        file: 'src/store/title-of-change.ts',
        find: "return { events: [...events, { type: 'titled', content: encode({ title }, 'title') }], title }",
        replace: 'return { events, title: encode({ title }) === null ? null : title }',
      },
    ],
    killedBy: [memory('a new title is an event in the same commit, and the title it has already is not')],
  },
  {
    name: 'a titled event leaves the row as it was',
    edits: [
      {
        file: 'src/store/title-of-change.ts',
        find: 'if (title === undefined || title === logged) return { events, title: logged }',
        replace: 'if (title === undefined || title === logged) return { events, title }',
      },
    ],
    killedBy: [
      memory('an event that is appended names the row, and the title of a seed needs no event'),
      titles('is the same in the log and in the row, whichever verb wrote it'),
    ],
  },
  {
    name: 'a change may give a row another title than its log',
    edits: [
      {
        file: 'src/store/title-of-change.ts',
        find: 'if (title === undefined || title === logged) return { events, title: logged }',
        replace: 'if (title === undefined || logged !== title) return { events, title: logged }',
      },
    ],
    killedBy: [memory('a change with a title writes the event, and one whose event says something else is refused')],
  },
  {
    name: 'an upsert with the same title makes the log grow',
    edits: [
      {
        file: 'src/store/tenant-rows.ts',
        find: 'const isNew = title !== undefined && title !== (record?.title ?? null)',
        replace: 'const isNew = title !== undefined',
      },
    ],
    killedBy: [memory('a new title is an event in the same commit, and the title it has already is not')],
  },
  {
    name: 'a title has no bound',
    edits: [
      {
        file: 'src/store/checks.ts',
        find: 'if (length > maxTitleLength)',
        replace: 'if (length > maxTitleLength * 9)',
      },
    ],
    killedBy: [memory('a title that is empty, too long or no text is refused, however it is given')],
  },
  {
    name: 'rename writes a title that is there already',
    edits: [
      {
        file: 'src/runtime/conversation-handle.ts',
        find: 'if (record.title === title) return',
        replace: 'if (record.title === title && title === null) return',
      },
    ],
    killedBy: [titles('that it has already writes nothing')],
  },
  {
    name: 'a status that contradicts the log is written',
    edits: [
      {
        file: 'src/store/tenant-rows.ts',
        find: 'if (says.includes(status)) return lastSeq',
        replace: 'if (says.length > 0) return lastSeq',
      },
    ],
    killedBy: [
      memory('that contradicts the log is refused and says what it is: an open turn'),
      titles('that contradicts the log is refused with the status in the log, and the turn continues'),
    ],
  },
  {
    name: 'memory: a summary may overlap another',
    edits: [
      {
        file: 'src/store/memory/memory-store.ts',
        find: 'inOrder.find((known) => !fitsBeside(known, summary))',
        replace: 'inOrder.find((known) => !fitsBeside(known, known))',
      },
    ],
    killedBy: [memory('a summary that overlaps another without covering it is refused, and names it')],
  },
  {
    name: 'a summary that ends where another begins does not overlap it',
    edits: [
      {
        file: 'src/store/records.ts',
        find: 'known.toSeq < added.fromSeq || known.fromSeq > added.toSeq) return true',
        replace: 'known.toSeq <= added.fromSeq || known.fromSeq >= added.toSeq) return true',
      },
    ],
    killedBy: [memory('a summary that overlaps another without covering it is refused, and names it')],
  },
  {
    name: 'sqlite: a summary may overlap another',
    edits: [
      {
        file: 'src/store/sqlite/records.ts',
        find: 'if (overlaps) return { overlaps }',
        replace: 'if (overlaps && overlaps.toSeq < 0) return { overlaps }',
      },
    ],
    killedBy: [sqlite('a summary that overlaps another without covering it is refused, and names it')],
  },
  {
    name: 'postgres: of summaries that come at once, both are put',
    edits: [
      {
        file: 'src/store/postgres/records.ts',
        find: 'WHERE tenant = $1 AND id = $2 FOR UPDATE`,\n  }\n  const overlapping',
        replace: 'WHERE tenant = $1 AND id = $2`,\n  }\n  const overlapping',
      },
    ],
    killedBy: [postgres('of summaries that come at once, none is left that overlaps another')],
  },
  {
    name: 'a summary that another process outran fails the task that made it',
    edits: [
      {
        file: 'src/engine/put-summary.ts',
        find: 'if (error instanceof SummaryOverlapError) return false',
        replace: 'if (error instanceof SummaryOverlapError && id === summary.content) return false',
      },
    ],
    killedBy: [
      { file: 'src/engine/put-summary.test.ts', test: 'a summary that one further on has outrun is left aside' },
    ],
  },
]
