import { failpoint } from '../base/failpoint.ts'
import type { Scope } from '../define/scope.ts'
import { childIdsBelow, parentCallOf } from '../engine/child/child-calls.ts'
import { resolveChildCall } from '../engine/child/child-family.ts'
import type { Identity } from '../engine/scopes.ts'
import { childIdOf } from '../log/child-call.ts'
import { ownerOf } from '../snapshot/owner-of.ts'
import { checkId } from '../store/checks.ts'
import type { ConversationRecord } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'
import type { MayRestore } from './permit.ts'
import { askAboutSnapshots } from './restore-conversation.ts'
import type { RuntimeContext } from './runtime-context.ts'

/**
 * Deletes a conversation with its child agents: first the application's copies, then everything in the store. Rejects, with nothing deleted in the store, when
 * a copy cannot be deleted. False when there was no such conversation; its id is then taken as deleted all the same.
 */
export async function deleteConversation(
  runtime: RuntimeContext,
  identity: Identity,
  id: string,
  agentName: string | null,
  mayRestore: MayRestore | null,
): Promise<boolean> {
  runtime.assertOpen()
  const { node } = runtime
  const { tenant, who, scope } = identity
  const store = node.store.forTenant(tenant)
  if (node.snapshots && (node.snapshots.canDelete || mayRestore)) {
    const { agent = agentName, lastSeq = 0 } = (await store.standing(id)) ?? {}
    if (lastSeq === 0 && mayRestore) await askAboutSnapshots(node, { id, identity, store, mayRestore }, 'delete')
    if (node.snapshots.canDelete) await deleteCopies(runtime, store, scope, { id, agent })
  }
  // The copies are gone from here: a crash leaves a log without copies, and the deletion can be repeated.
  failpoint('delete.after_state')
  const below = await childIdsBelow({ tenant, store, workingSets: node.workingSets }, id)
  const parent = await parentCallOf(store, id)
  const ended = { ok: false, error: 'the conversation of the agent was deleted' }
  if (parent) await resolveChildCall(runtime, tenant, parent, ended, who)
  const isDeleted = await store.deleteConversation(id)
  // Durable from here: the conversation is gone, and its id is never restored from a snapshot.
  failpoint('delete.after_commit')
  for (const gone of [id, ...below]) forget(runtime, tenant, gone)
  return isDeleted
}

/** Deletes a tenant in the same order. Returns how many conversations there were. */
export async function deleteTenant(runtime: RuntimeContext, tenant: string): Promise<number> {
  runtime.assertOpen()
  checkId('tenant', tenant)
  const { store, snapshots, scopes } = runtime.node
  const own = store.forTenant(tenant)
  const ids: string[] = []
  for await (const record of allConversations(own)) {
    ids.push(record.id)
    // No copy is ever made of a session.
    if (!snapshots?.canDelete || record.kind === 'flow') continue
    await deleteCopy(runtime, own, await scopes.forConversation(tenant, record.id, null).ofSystem(), record)
  }
  failpoint('delete.after_state')
  const count = await store.deleteTenant(tenant)
  // Durable from here: the conversations are gone, and their ids are never restored from snapshots.
  failpoint('delete.after_commit')
  for (const id of ids) forget(runtime, tenant, id)
  return count
}

type Known = Pick<ConversationRecord, 'id' | 'agent'>

/** Children first: a deletion that fails in the middle can be repeated from the same log. */
async function deleteCopies(
  runtime: RuntimeContext,
  store: TenantStore,
  scope: Scope | null,
  conversation: Known,
): Promise<void> {
  for await (const childId of childIdsIn(store, conversation.id)) {
    const child = await store.standing(childId)
    if (child) await deleteCopies(runtime, store, scope, { ...child, id: childId })
  }
  await deleteCopy(runtime, store, scope, conversation)
}

async function deleteCopy(
  { node: { snapshots } }: RuntimeContext,
  store: TenantStore,
  scope: Scope | null,
  { id, agent }: Known,
): Promise<void> {
  // Without an agent nothing was ever copied.
  if (agent === null) return
  const owner = await ownerOf(store, id)
  await snapshots?.delete(scope, { agentId: agent, conversationId: id, owner })
}

const pageSize = 200

/** The child agents that a log ever started: also those of turns that no working set has any more. */
async function* childIdsIn(store: TenantStore, id: string): AsyncGenerator<string> {
  for (let after = 0; ; ) {
    const page = await store.pageEvents(id, { after, limit: pageSize, maxBytes: 1024 * 1024, keep: 'oldest' })
    for (const { type, content } of page.events) {
      if (type === 'suspension' && content.kind === 'sub_agent') yield childIdOf(content.callId)
    }
    if (!page.hasMore || !page.last) return
    after = page.last.seq
  }
}

async function* allConversations(store: TenantStore): AsyncGenerator<ConversationRecord> {
  for (let before: string | undefined; ; ) {
    const page = await store.listConversations({ limit: pageSize, ...(before === undefined ? {} : { before }) })
    yield* page
    before = page.at(-1)?.id
    if (before === undefined || page.length < pageSize) return
  }
}

function forget({ node, worker, turnWaiters }: RuntimeContext, tenant: string, id: string): void {
  node.workingSets.drop(tenant, id)
  worker?.loseLease({ tenant, id })
  void node.channels.peek(tenant, id)?.poll()
  turnWaiters.hint({ tenant, id })
}
