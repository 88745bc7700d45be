import type { CommitOutcome, PreparedChange } from '../driver.ts'
import { mergeSettings } from '../rows.ts'
import { commitBatch, commitMerged } from './commit-batch.ts'
import { CommitBatcher, isRepeatable } from './commit-batcher.ts'
import type { Addressed } from './commit-query.ts'
import type { Database, Query } from './database.ts'

const maxChanges = 64
const lanes = 4

/** Together with others in one statement; alone when there are settings to merge, which is done here and not in the database. */
export function commitChange(
  database: Database,
  poolSize: number,
): (tenant: string, id: string, change: PreparedChange) => Promise<CommitOutcome> {
  const batcher = new CommitBatcher({ send: commitBatch(database), lanes: Math.min(lanes, poolSize), maxChanges })
  const lockSettings = {
    name: 'lock_settings',
    text: `SELECT settings FROM ${database.schema}.conversations WHERE tenant = $1 AND id = $2 FOR UPDATE`,
  }

  async function mergeAndCommit(query: Query, { tenant, id, change }: Addressed): Promise<CommitOutcome> {
    for (;;) {
      const [current] = await query<{ settings: string }>(lockSettings, [tenant, id])
      const added = change.attrs.settings ?? '{}'
      const settings = current ? mergeSettings(current.settings, added) : added
      const merged = { tenant, id, change: { ...change, attrs: { ...change.attrs, settings } } }
      const outcome = await commitMerged(query, database.schema, merged, current !== undefined)
      if (outcome.type !== 'settings') return outcome
      // Somebody has created it since it was looked for; now it can be locked.
    }
  }

  return async (tenant, id, change) => {
    const addressed = { tenant, id, change }
    const outcome = await batcher.commit(addressed)
    if (outcome.type !== 'settings') return outcome
    return database.transaction(
      async (query) => {
        const value = await mergeAndCommit(query, addressed)
        return { commit: value.type === 'ok', value }
      },
      isRepeatable(change) ? 'repeat' : 'reject',
    )
  }
}
