import fc from 'fast-check'
import type { Json, JsonObject } from '../../../src/base/json.ts'
import type { LogEvent } from '../../../src/log/events.ts'
import { fsmStateOf, statusOf } from '../../../src/log/fsm-state.ts'
import type { ToolCall } from '../../../src/store/records.ts'
import { difference } from '../compare/difference.ts'
import { show } from '../compare/show.ts'
import { openCalls } from '../contract/call-states.ts'
import { folded } from '../contract/folded.ts'
import { canFork, endOfSession, fork, forkSource, unloggedRows } from '../contract/fork.ts'
import { callRecord, conversationRecord, events, pendingCalls, since } from '../contract/queries.ts'
import type { Conversation, Tenant } from '../contract/state.ts'
import { forkIds, owner, pick } from '../generate/names.ts'
import { atConversation } from '../generate/places.ts'
import { Mismatch, type World } from '../world.ts'
import { command } from './command.ts'

export const forkCommands = [
  command({
    name: 'fork',
    weight: 5,
    args: fc.record({
      ...atConversation,
      newId: fc.constantFrom(...forkIds),
      at: fc.option(pick),
      owner: fc.option(owner, { nil: undefined }),
    }),
    canRun(world, { tenant: name, id }) {
      const tenant = world.contract.tenant(name)
      const source = tenant.conversations.get(id)
      return !source || canFork(tenant, source)
    },
    async run(world, { tenant: name, id, via, newId, at: index, owner: forker }) {
      const tenant = world.contract.tenant(name)
      const length = tenant.conversations.get(id)?.events.length ?? 0
      // Now and then past the end.
      const at = index === null ? undefined : index % (length + 2)
      const options = { ...(at !== undefined && { at }), ...(forker !== undefined && { owner: forker }) }
      let now = null as Parameters<typeof fork>[2]['now'] | null
      await world.act(
        () => world.handle(name, via).fork(id, newId, options),
        (span) => {
          forkSource(tenant, id, newId, at)
          now = span
        },
      )
      if (now) await compareFork(world, { name, id, newId, at: at ?? length, owner: forker, now })
    },
  }),
]

type Forked = {
  name: string
  id: string
  newId: string
  at: number
  owner: string | undefined
  now: Parameters<typeof fork>[2]['now']
}

/** The ids of open calls are the store's to choose, so they are read first; everything else must be as the reference says. */
async function compareFork(world: World, { name, id, newId, at, owner: forker, now }: Forked): Promise<void> {
  const tenant = world.contract.tenant(name)
  const source = tenant.conversations.get(id)!
  const handle = world.handle(name, 0)
  const log = await handle.streamEvents(newId)
  const pending = await handle.pendingToolCalls(newId)
  const fresh = freshIds(tenant, source, at, log, pending)
  const copy = fork(tenant, source, { newId, at, owner: forker, fresh, interrupted: wordsOf(log[at]), now })
  world.same(log, events(tenant, newId), 'events of the fork')
  await learnCache(copy, await handle.getConversation(newId))
  world.same(await handle.getConversation(newId), conversationRecord(copy), 'fork')
  world.same(pending, pendingCalls(tenant, newId), 'pending calls of the fork')
  world.same(await handle.loadSince(newId), since(tenant, newId), 'revival of the fork')
}

function freshIds(
  tenant: Tenant,
  source: Conversation,
  at: number,
  log: readonly LogEvent[],
  pending: readonly ToolCall[],
): Map<string, string> {
  const fresh = new Map<string, string>()
  for (const { call, seq } of openCalls(source.events.slice(0, at))) {
    fresh.set(call.callId, String((log[seq - 1]?.content as { callId?: string } | undefined)?.callId))
  }
  for (const row of unloggedRows(tenant, source, at)) {
    const twin = pending.find((candidate) => {
      if ([...fresh.values()].includes(candidate.id)) return false
      const { id, conversationId } = candidate
      return difference(candidate, callRecord({ ...row, id, conversationId })) === null
    })
    if (!twin) throw new Mismatch(`the fork has no row for call '${row.id}' among ${show(pending)}`)
    fresh.set(row.id, twin.id)
  }
  for (const callId of fresh.values()) {
    if (tenant.calls.has(callId) || fresh.has(callId)) throw new Mismatch(`the fork shares the call id '${callId}'`)
  }
  if (new Set(fresh.values()).size !== fresh.size) throw new Mismatch('the fork gave one id to two calls')
  return fresh
}

/** The wording is the store's; that the outcome is unknown is not. */
function wordsOf(event: LogEvent | undefined): JsonObject {
  const { error } = (event?.content ?? {}) as { error?: Json }
  return { ok: false, error: typeof error === 'string' && error !== '' ? error : 'words', outcome: 'unknown' }
}

/** The cached state is the log's, or none where the log cannot be folded from what is at hand. */
async function learnCache(copy: Conversation, actual: { fsmState: unknown } | null): Promise<void> {
  const latest = [...copy.summaries.values()].sort((left, right) => right.toSeq - left.toSeq)[0]
  // What a summary stands for is not read.
  const read = copy.events.slice(latest?.toSeq ?? 0)
  const hasFlow = copy.kind === 'flow' || read.some(({ type }) => type.startsWith('flow_'))
  const state = hasFlow ? null : folded(copy.events)
  const mayBeAbsent = state === null || (latest !== undefined && latest.base === null)
  copy.fsmState = state && (actual?.fsmState !== null || !mayBeAbsent) ? fsmStateOf(state) : null
  copy.status = endOfSession(copy) ?? (copy.fsmState ? statusOf(copy.fsmState.state) : 'idle')
}
