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
import { isId } from '../store/checks.ts'
import type { ConversationAttrs } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'
import { type MayRestore, Refused, type RestoringAction } from './permit.ts'

/** Which conversation, and for whom. */
export type Restore = {
  readonly id: string
  readonly agentId: string
  readonly identity: Identity
  readonly store: TenantStore
  /** Null where every caller may restore. */
  readonly mayRestore: MayRestore | null
}

/** `begun_elsewhere`: the log was not empty any more. `nothing`: there is no snapshot that can be used, or the id was deleted. */
export type Restored = 'restored' | 'begun_elsewhere' | 'nothing'

type Node = Pick<EngineNode, 'snapshots' | 'clock' | 'logger' | 'agents'>

/**
 * Begins an empty log with what the application's snapshot says, in one commit of its own. Throws `Refused` where the caller may not have it. Rejects when
 * the application does not answer.
 */
export async function restoreConversation(
  node: Node,
  restore: Restore,
  action: Extract<RestoringAction, 'send' | 'continue'>,
): Promise<Restored> {
  const { logger, clock, agents } = node
  const { id, agentId, identity, store } = restore
  const snapshot = await allowedSnapshot(node, restore, action)
  if (!snapshot) return 'nothing'
  const owner = snapshot.owner ?? identity.who
  // Whoever wrote the snapshot must not make what waits in it act as the system.
  const who = owner === 'system' ? identity.who : owner
  try {
    const fileOf = await storeFiles(snapshot, store)
    const exposed = agents.get(agentId)?.state?.exposed ?? []
    const events = restoredEvents(snapshot, { who, now: clock.now(), newId: uuidV7, fileOf, exposed })
    failpoint('restore.before_commit')
    const result = await store.commit(
      id,
      changeOf(events, snapshot, { agent: agentId, ...(isId(owner) ? { owner } : {}) }),
    )
    // Durable from here: the log counts, and the snapshot does not any more.
    failpoint('restore.after_commit')
    if (result.ok) return 'restored'
    return result.lastSeq > 0 ? 'begun_elsewhere' : 'nothing'
  } catch (error) {
    if (!PerdureError.isInstance(error)) throw error
    // Another process has begun the log, and works on it.
    if (error.code === 'owner_only') return 'begun_elsewhere'
    if (!unusable.has(error.code)) throw error
    const problem = error.message
    logger.warn('a snapshot cannot be used; the conversation begins without it', {
      agentId,
      conversationId: id,
      problem,
    })
    return 'nothing'
  }
}

/**
 * For a verb that does not restore. Where the log is empty, only the snapshot says whose conversation it is; and no row says of which agent it is, so that of each
 * is looked at. Throws `Refused`.
 */
export async function askAboutSnapshots(
  node: Node & Pick<EngineNode, 'addressable'>,
  restore: Omit<Restore, 'agentId'>,
  action: RestoringAction,
): Promise<void> {
  for (const agentId of node.addressable.keys()) await allowedSnapshot(node, { ...restore, agentId }, action)
}

/** The row, which `authorize` was asked about before, does not say whose words the snapshot has. */
async function allowedSnapshot(
  { snapshots, clock }: Node,
  { id, agentId, identity, store, mayRestore }: Restore,
  action: RestoringAction,
): Promise<Snapshot | null> {
  const { scope, who } = identity
  const snapshot = await snapshots?.load(scope, { agentId, conversationId: id, owner: who })
  if (!snapshot || !mayRestore || snapshot.owner === undefined) return snapshot ?? null
  const now = clock.now()
  const row = (await store.getConversation(id)) ?? {
    id,
    kind: 'conversation' as const,
    agent: agentId,
    status: 'idle' as const,
    settings: {},
    fsmState: null,
    title: snapshot.title,
    parent: null,
    lastSeq: 0,
    createdAt: now,
    updatedAt: now,
  }
  if (!(await mayRestore(action, { ...row, owner: snapshot.owner }))) throw new Refused()
  return snapshot
}

/** What the store says of a snapshot that no log can hold, and of an id that was deleted. */
const unusable: ReadonlySet<string> = new Set([
  'conversation_deleted',
  'event_invalid',
  'event_too_large',
  'invalid_argument',
])

/** Nothing in it has to run: what waits, waits for an answer. */
function changeOf(
  events: readonly NewEvent[],
  { title }: Snapshot,
  attrs: Pick<ConversationAttrs, 'agent' | 'owner'>,
): Change {
  const after = foldEvents(tentative(events, 0))
  return {
    ...changeFor(events, after),
    expectedSeq: 0,
    fsmState: fsmStateOf(after),
    wakeAt: null,
    conversation: { ...attrs, ...(title ? { title } : {}) },
    resendKey: `restore/${uuidV7()}`,
  }
}
