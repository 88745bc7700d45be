import type { Case, Mutant } from './mutant.ts'

const conformance = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const onSqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const onPostgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })

/** Bugs in who owns what. */
export const ownerMutants: readonly Mutant[] = [
  {
    name: 'the owner is who spoke last (memory)',
    edits: [
      {
        file: 'src/store/memory/commit-change.ts',
        find: 'const owner = row.columns.owner ?? inherited ?? given ?? null',
        replace: 'const owner = given ?? inherited ?? row.columns.owner ?? null',
      },
    ],
    killedBy: [conformance('who says the first thing owns the conversation, and stays its owner')],
  },
  {
    name: 'a child agent belongs to who spoke to it (SQLite)',
    edits: [
      {
        file: 'src/store/sqlite/conversations.ts',
        find: 'const owner = inheritedOwner(db, tenant, attrs) ?? attrs.owner ?? null',
        replace: 'const owner = attrs.owner ?? inheritedOwner(db, tenant, attrs) ?? null',
      },
    ],
    killedBy: [onSqlite('a child agent has the owner of its parent')],
  },
  {
    name: 'a page of one owner begins at what another has (SQLite)',
    edits: [
      {
        file: 'src/store/sqlite/conversations.ts',
        find: 'if (last === null || (last && owner !== undefined && last.owner !== owner)) return null',
        replace: 'if (last === null) return null',
      },
    ],
    killedBy: [onSqlite('a list of one owner has nothing of others, and no page of it begins at theirs')],
  },
  {
    name: 'the inbox of one owner has the calls of all (Postgres)',
    edits: [
      {
        file: 'src/store/postgres/events.ts',
        find: "const ofOwner = owner === undefined ? '' : `AND c.owner = $${values.length}`",
        replace: "const ofOwner = owner === undefined ? '' : `AND $${values.length}::text IS NOT NULL`",
      },
    ],
    killedBy: [onPostgres('an inbox of one owner has nothing of others, and no page of it begins at theirs')],
  },
  {
    name: 'an owner is replaced (Postgres)',
    edits: [
      {
        file: 'src/store/postgres/commit-function.ts',
        find: 'owner = coalesce(c.owner, CASE',
        replace: 'owner = coalesce(x.owner, c.owner, CASE',
      },
    ],
    killedBy: [onPostgres('who says the first thing owns the conversation, and stays its owner')],
  },
  {
    name: 'a fork belongs to the owner of its source',
    edits: [
      {
        file: 'src/store/plan-fork.ts',
        find: 'owner: source.owner ?? conversation.owner,',
        replace: 'owner: conversation.owner ?? source.owner,',
      },
    ],
    killedBy: [conformance('a fork has the owner it is given, else that of its source')],
  },
]
