import { PerdureError } from '../base/errors/perdure-error.ts'
import { failpoint } from '../base/failpoint.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import type { EngineNode } from '../engine/node.ts'
import type { Identity } from '../engine/scopes.ts'
import { tentative } from '../log/decide.ts'
import type { NewEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { fsmStateOf } from '../log/fsm-state.ts'
import { restoredEvents } from '../log/restored-events.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { storeFiles } from '../snapshot/snapshot-files.ts'
import { type Change, changeFor } from '../store/change.ts'
import type { TenantStore } from '../store/store.ts'

/** Which conversation, and for whom. */
export type Restore = {
  readonly id: string
  readonly agentId: string
  readonly identity: Identity
  readonly store: TenantStore
}

/**
 * Begins an empty log with what the application's snapshot says, in one commit of its own. True when the log is not empty any more: it was restored here, or
 * began elsewhere meanwhile. False when there is nothing to restore, or the id was deleted. Rejects when the application does not answer.
 */
export async function restoreConversation(
  { snapshots, clock, logger, agents }: Pick<EngineNode, 'snapshots' | 'clock' | 'logger' | 'agents'>,
  { id, agentId, identity, store }: Restore,
): Promise<boolean> {
  const { scope, who } = identity
  const snapshot = await snapshots?.load(scope, { agentId, conversationId: id, owner: who })
  if (!snapshot) return false
  try {
    const fileOf = await storeFiles(snapshot, store)
    const exposed = agents.get(agentId)?.state?.exposed ?? []
    const events = restoredEvents(snapshot, { who, now: clock.now(), newId: uuidV7, fileOf, exposed })
    failpoint('restore.before_commit')
    const result = await store.commit(id, changeOf(events, snapshot, agentId))
    // Durable from here: the log counts, and the snapshot does not any more.
    failpoint('restore.after_commit')
    return result.ok || result.lastSeq > 0
  } catch (error) {
    if (!PerdureError.isInstance(error)) throw error
    // The log began elsewhere meanwhile, and a process works on it.
    if (error.code === 'owner_only') return true
    if (!unusable.has(error.code)) throw error
    const problem = error.message
    logger.warn('a snapshot cannot be used; the conversation begins without it', {
      agentId,
      conversationId: id,
      problem,
    })
    return false
  }
}

/** What the store says of a snapshot that no log can hold, and of an id that was deleted. */
const unusable: ReadonlySet<string> = new Set([
  'conversation_deleted',
  'event_invalid',
  'event_too_large',
  'invalid_argument',
])

/** Nothing in it has to run: what waits, waits for an answer. */
function changeOf(events: readonly NewEvent[], { title }: Snapshot, agent: string): Change {
  const after = foldEvents(tentative(events, 0))
  return {
    ...changeFor(events, after),
    expectedSeq: 0,
    fsmState: fsmStateOf(after),
    wakeAt: null,
    conversation: { agent, ...(title ? { title } : {}) },
    resendKey: `restore/${uuidV7()}`,
  }
}
