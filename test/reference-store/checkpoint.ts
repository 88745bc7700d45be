import { Exact } from './compare/difference.ts'
import { dueWorkProblem } from './contract/due-work.ts'
import {
  callRecord,
  conversationRecord,
  conversations,
  events,
  inbox,
  modelCalls,
  pendingCalls,
  since,
} from './contract/queries.ts'
import { agents, tenants } from './generate/names.ts'
import { Mismatch, type World } from './world.ts'

/** Compares everything a store holds with everything the reference does. */
export async function checkpoint(world: World, via: number): Promise<void> {
  for (const name of tenants) await checkTenant(world, name, via)
  const query = { agents, limit: 1000 }
  const { outcome, at } = await world.observe(() => world.store(via).dueWork(query))
  const problem = outcome.ok ? dueWorkProblem(world.contract, query, at, outcome.value) : outcome.code
  if (problem) throw new Mismatch(`dueWork at the checkpoint: ${problem}`)
}

async function checkTenant(world: World, name: string, via: number): Promise<void> {
  const tenant = world.contract.tenant(name)
  const handle = world.handle(name, via)
  for (const [id, conversation] of tenant.conversations) {
    world.same(await handle.getConversation(id), conversationRecord(conversation), `checkpoint ${id}`)
    world.same(await handle.streamEvents(id), events(tenant, id), `checkpoint ${id} events`)
    world.same(await handle.loadSince(id), since(tenant, id), `checkpoint ${id} since`)
    const pending = await handle.pendingToolCalls(id)
    world.same(pending, pendingCalls(tenant, id), `checkpoint ${id} pending`)
    const names = pending.map(({ id: callId, round, kind }) => ({ id: callId, round, kind }))
    world.same(await handle.pendingCallNames(id), names, `checkpoint ${id} names of pending`)
    world.same(await handle.modelCalls(id), modelCalls(tenant, id), `checkpoint ${id} model calls`)
  }
  for (const [callId, call] of tenant.calls) {
    world.same(await handle.getToolCall(callId), callRecord(call), `checkpoint call ${callId}`)
  }
  for (const [id, snapshot] of tenant.snapshots) {
    world.same(await handle.getSnapshot(id), new Exact(snapshot), `checkpoint ${id} snapshot`)
  }
  for (const [blob, { bytes, mediaType }] of tenant.blobs) {
    const found = await handle.getBlob({ blob, mediaType, size: bytes.length })
    const actual = found && { ...found, bytes: new Uint8Array(found.bytes) }
    world.same(actual, { bytes, mediaType }, `checkpoint blob ${blob}`)
  }
  world.same(await handle.listConversations({ limit: 1000 }), conversations(tenant, { limit: 1000 }), 'checkpoint list')
  world.same(await handle.pendingInbox({ limit: 1000 }), inbox(tenant, { limit: 1000 }), 'checkpoint inbox')
}
