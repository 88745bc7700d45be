import type { ExpiryLoop } from './expiry-loop.ts'
import type { HintBus } from './hint-bus.ts'
import type { Upkeep } from './upkeep.ts'

/** Tells those who wait for news in this process of what upkeep brings back. */
export function watchedUpkeep(upkeep: Upkeep, { hints, expiry }: { hints: HintBus; expiry: ExpiryLoop }): Upkeep {
  return {
    snapshot: (work) => upkeep.snapshot(work),
    restoreBlob: (tenant, blob) => upkeep.restoreBlob(tenant, blob),
    restoreSnapshot: (tenant, id, snapshot) => upkeep.restoreSnapshot(tenant, id, snapshot),
    collect: (request) => upkeep.collect(request),
    schema: () => upkeep.schema(),
    migrate: () => upkeep.migrate(),
    ...(upkeep.compact ? { compact: () => upkeep.compact!() } : {}),
    async restoreConversation(tenant, conversation, rows) {
      const outcome = await upkeep.restoreConversation(tenant, conversation, rows)
      if (outcome.type === 'ok') {
        hints.emit({ tenant, id: conversation.id, seq: outcome.seq })
        expiry.within(0)
      }
      return outcome
    },
    async rebuild(tenant, id, rebuilt) {
      const outcome = await upkeep.rebuild(tenant, id, rebuilt)
      if (outcome === 'ok') {
        hints.emit({ tenant, id, seq: rebuilt.expected.lastSeq })
        expiry.within(0)
      }
      return outcome
    },
  }
}
