import type { Upkeep } from '../../upkeep.ts'
import { Connection } from '../connection.ts'
import type { GroupCommit } from '../group-commit.ts'
import { knownVersion } from '../migrations.ts'
import { renewLog } from '../renew-log.ts'
import { collect } from './collect.ts'
import { foundVersion } from './found-version.ts'
import { sqliteReader } from './reader.ts'
import { rebuild } from './rebuild.ts'
import { restoreConversation } from './restore-conversation.ts'
import { restoreBlob, restoreSnapshot } from './restore-rows.ts'

/** What reads for long, or writes much, has a connection of its own: the store's one must stay free for commits. */
export function sqliteUpkeep(connection: Connection, commits: GroupCommit): Upkeep {
  const { path, busyTimeoutMs } = connection

  async function alone<T>(work: (own: Connection) => Promise<T>): Promise<T> {
    const own = new Connection(path, busyTimeoutMs)
    try {
      return await work(own)
    } catch (error) {
      throw own.failed(error)
    } finally {
      own.drop()
    }
  }

  return {
    snapshot: (work) =>
      alone(async (own) => {
        const reader = await own.read((db) => {
          db.rollBack()
          db.run('BEGIN')
          return sqliteReader(db)
        })
        return await work(reader)
      }),
    restoreConversation: (tenant, conversation, rows) =>
      restoreConversation({ connection, commits, alone, busyTimeoutMs }, tenant, conversation, rows),
    restoreBlob: (tenant, blob) => commits.write((db) => restoreBlob(db, tenant, blob)),
    restoreSnapshot: (tenant, id, snapshot) => commits.write((db) => restoreSnapshot(db, tenant, id, snapshot)),
    rebuild: (tenant, id, rebuilt) => commits.write((db) => rebuild(db, tenant, id, rebuilt)),
    collect: (request) =>
      request.isDryRun ? connection.read((db) => collect(db, request)) : commits.write((db) => collect(db, request)),
    compact: () =>
      alone(async (own) => {
        await own.read((db) => db.exec('VACUUM'))
        await own.read(renewLog)
      }),
    async schema() {
      return { found: foundVersion(path), known: knownVersion }
    },
    async migrate() {
      const found = foundVersion(path)
      // Opening it migrates.
      await connection.read(() => {})
      return { found, known: knownVersion }
    },
  }
}
