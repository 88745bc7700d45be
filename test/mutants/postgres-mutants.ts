import type { Case, Mutant } from './mutant.ts'

const suite = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const silent = (test: string): Case => ({ file: 'src/store/postgres/silent-connections.test.ts', test })
const commitFunction = 'src/store/postgres/commit-function.ts'
const tables = 'src/store/postgres/tables.ts'

export const postgresMutants: readonly Mutant[] = [
  {
    name: 'postgres: the settings of a new connection are waited for without a limit',
    edits: [
      {
        file: 'src/store/postgres/database.ts',
        find: 'return client.query(withTimeout({ text }, this.#options.answerTimeoutMs))',
        replace: 'return client.query({ text })',
      },
    ],
    killedBy: [
      silent('a new connection that goes silent at its first statement is dropped, and the store uses another'),
    ],
  },
  {
    name: 'postgres: a statement waits for its answer without a limit',
    edits: [
      {
        file: 'src/store/postgres/database.ts',
        find: 'timeoutMs ?? this.#options.answerTimeoutMs',
        replace: 'timeoutMs ?? 0',
      },
    ],
    killedBy: [silent('connections that went silent are noticed after `answerTimeoutMs`, and what can be repeated is')],
  },
  {
    name: 'postgres: the connection for hints is never checked',
    edits: [
      {
        file: 'src/store/postgres/hints.ts',
        find: "await this.#query({ text: 'SELECT 1' })",
        replace: '',
      },
    ],
    killedBy: [silent('a store whose hints went silent notices, says so, and hears them again')],
  },
  {
    name: 'postgres: a pool that is too small says nothing',
    edits: [
      {
        file: 'src/store/postgres/database.ts',
        find: "    this.#warn('all connections to Postgres are busy', { max, waitedMs: connectTimeoutMs })\n",
        replace: '',
      },
    ],
    killedBy: [silent('a pool whose connections are all busy says so, and the work goes on when one is free')],
  },
  {
    name: 'postgres: an answer does not ask whether the call is still pending',
    edits: [
      {
        file: commitFunction,
        find: "t.conversation_id = x.id AND t.status = 'pending' AND t.round",
        replace: 't.conversation_id = x.id AND t.round',
      },
    ],
    killedBy: [
      suite('the loser of a commit learns which resolution won'),
      suite('of forty resolvers at once one wins, and the others learn its answer'),
    ],
  },
  {
    name: 'postgres: a refused commit uses up seqs',
    edits: [
      {
        file: commitFunction,
        find: 'WHERE x.wave = v_wave AND x.base IS NOT NULL AND c.tenant = x.tenant AND c.id = x.id;',
        replace: 'WHERE x.wave = v_wave AND c.tenant = x.tenant AND c.id = x.id;',
      },
    ],
    killedBy: [suite('refused commits leave no gap in the sequence')],
  },
  {
    name: 'postgres: the key is checked after the epoch',
    edits: [
      {
        file: commitFunction,
        find: "            WHEN k.seq IS NOT NULL THEN 'known'\n            WHEN x.epoch IS NOT NULL AND x.epoch IS DISTINCT FROM c.epoch THEN 'epoch'\n",
        replace:
          "            WHEN x.epoch IS NOT NULL AND x.epoch IS DISTINCT FROM c.epoch THEN 'epoch'\n            WHEN k.seq IS NOT NULL THEN 'known'\n",
      },
    ],
    killedBy: [suite('a known key is answered before everything else is looked at')],
  },
  {
    name: 'postgres: the round of an answer is ignored',
    edits: [{ file: commitFunction, find: 'AND t.round = r.round AND (NOT r.due', replace: 'AND (NOT r.due' }],
    killedBy: [suite('an answer to the first round never ends the second')],
  },
  {
    name: 'postgres: synchronous_commit is off',
    edits: [
      {
        file: 'src/store/postgres/connection.ts',
        find: "'synchronous_commit = on'",
        replace: "'synchronous_commit = off'",
      },
    ],
    killedBy: [
      {
        file: 'test/faults/durability.test.ts',
        test: 'Postgres acknowledges what is on disk, also when it crashes or takes no writes for a while',
      },
    ],
  },
  {
    name: 'postgres: the content of events is jsonb',
    edits: [
      {
        file: tables,
        find: '    content text NOT NULL,\n    PRIMARY KEY (tenant, conversation_id, seq)',
        replace: '    content jsonb NOT NULL,\n    PRIMARY KEY (tenant, conversation_id, seq)',
      },
      { file: commitFunction, find: 'v_now, e.type, e.content\n', replace: 'v_now, e.type, e.content::jsonb\n' },
      {
        file: 'src/store/postgres/columns.ts',
        find: "'seq, at, type, content'",
        replace: "'seq, at, type, content::text AS content'",
      },
    ],
    killedBy: [suite('every JSON value comes back unchanged from a committed event')],
  },
  {
    name: 'postgres: ids sort by the language of the database',
    edits: [
      {
        file: 'src/store/postgres/columns.ts',
        find: `'COLLATE "POSIX"'`,
        replace: `'COLLATE "und-x-icu"'`,
      },
    ],
    killedBy: [suite('pages show every conversation once, in one order, also those of one moment')],
  },
  {
    name: 'postgres: a holder may take the lease of another',
    edits: [
      {
        file: 'src/store/postgres/leases.ts',
        find: '(c.epoch IS NULL OR c.holder = $3 OR c.leased_until <= ${nowMs})',
        replace: '(c.epoch IS NULL OR c.holder = $3 OR c.leased_until >= 0)',
      },
    ],
    killedBy: [
      suite('one holder has the lease, and another one gets nothing'),
      suite('of twenty holders at once one gets the lease'),
    ],
  },
]
