/** The drivers alone: the seven rows of a turn in the four commits that durable calls need. Nothing is read, checked or encoded. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

const usage = '{"inputTokens":10,"outputTokens":5}'
/** The rows of each commit, about as long as Perdure's. */
const commits = [
  ['{"id":"0198f3c2a","content":"What is the answer?","turn":"0198f3c2a"}'],
  [
    `{"turn":"0198f3c2a","parts":[{"type":"call","id":"call_1"}],"usage":${usage}}`,
    '{"call":"call_1","tool":"look","args":{"q":"answer"},"executor":"server"}',
    '{"call":"call_1","attempt":1}',
  ],
  ['{"call":"call_1","attempt":1,"result":{"found":42}}'],
  [
    `{"turn":"0198f3c2a","parts":[{"type":"text","text":"It is 42."}],"usage":${usage}}`,
    '{"turn":"0198f3c2a","status":"completed"}',
  ],
]

export const open = (kind, place) => (kind === 'sqlite' ? openSqlite(place) : openPostgres(place))

/** The next number of each conversation. */
function counters() {
  const next = new Map()
  return (id) => {
    const n = (next.get(id) ?? 0) + 1
    next.set(id, n)
    return n
  }
}

function openSqlite({ folder }) {
  const db = new DatabaseSync(join(folder, 'raw.db'))
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  db.exec(`CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, cid TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, type TEXT NOT NULL, content TEXT NOT NULL) STRICT;
    CREATE UNIQUE INDEX IF NOT EXISTS events_by_seq ON events (cid, seq)`)
  const insert = db.prepare('INSERT INTO events (cid, seq, at, type, content) VALUES (?, ?, ?, ?, ?)')
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const seqOf = counters()
  return {
    async turn(id) {
      for (const rows of commits) {
        begin.run()
        for (const row of rows) insert.run(id, seqOf(id), Date.now(), 'event', row)
        commit.run()
        // Others get a chance between two commits, as they do in a runtime.
        await null
      }
    },
    close: async () => db.close(),
  }
}

async function openPostgres({ url }) {
  const pool = new pg.Pool({ connectionString: url })
  await pool.query(`CREATE TABLE IF NOT EXISTS events (
    cid text NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, type text NOT NULL, content text NOT NULL, PRIMARY KEY (cid, seq))`)
  const seqOf = counters()
  return {
    async turn(id) {
      for (const rows of commits)
        await pool.query({
          name: 'append',
          text: "INSERT INTO events (cid, seq, at, type, content) SELECT $1, seq, $2, 'event', content FROM unnest($3::bigint[], $4::text[]) AS row (seq, content)",
          values: [id, Date.now(), rows.map(() => seqOf(id)), rows],
        })
    },
    close: () => pool.end(),
  }
}
