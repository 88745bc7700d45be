import type { Upkeep } from '../../upkeep.ts'
import type { Database } from '../database.ts'
import { migrations } from '../migrate.ts'
import { nowMs } from '../sql-names.ts'
import { collect } from './collect.ts'
import { postgresReader } from './reader.ts'
import { rebuild } from './rebuild.ts'
import { restoreConversation } from './restore-conversation.ts'

/** It may wait long for what it is fed with, or for what it feeds. */
const patient = 'SET LOCAL idle_in_transaction_session_timeout = 0'
const oneMoment = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${patient}`

export function postgresUpkeep(database: Database): Upkeep {
  const { schema } = database
  const moment = {
    name: 'upkeep_moment',
    text: `SELECT ${nowMs} AS now, (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ${schema}.epochs) AS "lastEpoch"`,
  }
  const putBlob = {
    name: 'upkeep_put_blob',
    text: `INSERT INTO ${schema}.blobs AS b (tenant, hash, bytes, media_type, pins) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (tenant, hash) DO UPDATE SET pins = greatest(b.pins, excluded.pins)`,
  }
  const putSnapshot = {
    name: 'upkeep_put_snapshot',
    text: `INSERT INTO ${schema}.snapshots (tenant, id, snapshot) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1`,
  }
  return {
    snapshot: (work) =>
      database.session(oneMoment, async (query) => {
        const [taken] = await query<{ now: number; lastEpoch: number }>(moment, [])
        return { commit: false, value: await work(postgresReader(query, schema, taken!)) }
      }),
    restoreConversation: (tenant, conversation, rows) =>
      database.session(`BEGIN; ${patient}`, async (query) => {
        const value = await restoreConversation(query, schema, tenant, conversation, rows)
        return { commit: value.type === 'ok', value }
      }),
    async restoreBlob(tenant, { hash, mediaType, pins, bytes }) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      await database.run(putBlob, [tenant, hash, buffer, mediaType, pins])
    },
    async restoreSnapshot(tenant, id, snapshot) {
      return (await database.run(putSnapshot, [tenant, id, snapshot], 'reject')).length > 0
    },
    rebuild: (tenant, id, rebuilt) =>
      database.transaction(async (query) => {
        const value = await rebuild(query, schema, tenant, id, rebuilt)
        return { commit: value === 'ok', value }
      }, 'repeat'),
    collect: (request) =>
      database.transaction(async (query) => {
        const value = await collect(query, schema, request)
        return { commit: !request.isDryRun, value }
      }),
    async schema() {
      return { found: await database.version(), known: migrations.length }
    },
    async migrate() {
      const found = await database.version()
      // The first use migrates.
      await database.run({ name: 'upkeep_migrated', text: 'SELECT 1' }, [])
      return { found, known: migrations.length }
    },
  }
}
