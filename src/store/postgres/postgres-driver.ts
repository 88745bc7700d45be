import type { Driver } from '../driver.ts'
import { blobs } from './blobs.ts'
import { calls } from './calls.ts'
import { commitChange } from './commit-change.ts'
import { conversations } from './conversations.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { events } from './events.ts'
import { forkConversation } from './fork-conversation.ts'
import { HintChannel, type HintChannelOptions } from './hint-channel.ts'
import { leases } from './leases.ts'
import { modelCalls } from './model-calls.ts'
import { movedLogs } from './moved-logs.ts'
import { snapshots } from './snapshots.ts'
import { summaries } from './summaries.ts'
import { postgresUpkeep } from './upkeep/upkeep.ts'

export function postgresDriver(options: DatabaseOptions & HintChannelOptions): Driver {
  const database = new Database(options)
  const hints = new HintChannel(options)
  const commit = commitChange(database, options.max)
  return {
    durable: true,
    resends: true,
    async commit(tenant, id, change) {
      const outcome = await commit(tenant, id, change)
      const isNews = change.events.length > 0 || change.wake.type === 'in'
      if (outcome.type === 'ok' && isNews) hints.send({ tenant, id, seq: outcome.seq })
      return outcome
    },
    ...events(database),
    ...summaries(database),
    ...conversations(database),
    ...calls(database),
    ...modelCalls(database),
    ...leases(database),
    movedLogs: movedLogs(database),
    ...blobs(database),
    ...snapshots(database),
    fork: forkConversation(database),
    upkeep: postgresUpkeep(database),
    watchOthers: (emit) => hints.listen(emit),
    async close() {
      await hints.close()
      await database.close()
    },
  }
}
