import { AgentMissingError } from '../../base/errors/runtime-errors.ts'
import type { Agent } from '../../define/agent.ts'
import { callIdOfChild } from '../../log/child-call.ts'
import { decide } from '../../log/decide.ts'
import type { Lease } from '../../store/lease.ts'
import type { ConversationRef } from '../../store/records.ts'
import { admitChild, parentCallOf } from '../child/child-calls.ts'
import { childFamily } from '../child/child-family.ts'
import type { Brought, WorkStarter } from '../lease-request.ts'
import type { EngineNode } from '../node.ts'
import { forkerIn, forkerOf } from '../scopes.ts'
import { startTitle } from './background-calls.ts'
import { Owner } from './owner.ts'
import type { TurnContext } from './turn-context.ts'
import { TurnTools } from './turn-tools.ts'
import { mayCallModel } from './wait-for-account.ts'

/** A conversation, the lease to work under, and what the claim or commit already read. */
type Assignment = Brought & {
  readonly ref: ConversationRef
  readonly agent: Agent
  readonly lease: Lease
}

/** Drives a conversation under a lease until it can be released. Resolves with how long to leave it to other processes; 0 if there is no need. */
export async function workOnConversation(
  node: EngineNode,
  worker: WorkStarter,
  { ref, agent, lease, known: given, fork, log }: Assignment,
  onOwner: (owner: Owner) => void,
): Promise<number> {
  const { tenant, id } = ref
  const { workingSets } = node
  const store = node.store.forTenant(tenant)
  const parent = callIdOfChild(id) === null ? null : await parentCallOf(store, id)
  if (!parent && !node.addressable.has(agent.name))
    throw new AgentMissingError(agent.name, id, [...node.addressable.keys()])
  if (parent) {
    const { state } = await workingSets.loadWhole(store, tenant, id)
    if (!(await admitChild({ store, workingSets, tenant }, id, state, parent))) return 0
  }
  // Nothing is awaited where the log is known, so that a caller who asks for the turn at once finds its owner here.
  const known = parent ? null : given
  const workingSet = known?.workingSet ?? (await workingSets.loadWhole(store, tenant, id, parent ? undefined : log))
  // `known` is a log whose last message opened its only open turn: a fork has copied none of that.
  const forker = known ? null : fork === undefined ? await forkerOf(store, id) : forkerIn(fork)
  if (worker.isClosed) {
    await store.releaseLease(id, lease.epoch)
    return 0
  }
  const channel = node.channels.of(tenant, id)
  const scopes = node.scopes.forConversation(tenant, id, forker)
  const context: TurnContext = {
    node,
    ref,
    agent,
    tools: new TurnTools(agent, node),
    store,
    channel,
    live: channel.voice(lease.epoch),
    scopes,
    family: childFamily(node, worker, ref, agent, parent, scopes),
    memory: node.contextMemories.of(tenant, id),
  }
  const owner = new Owner(context, lease, workingSet, known?.cached ?? null)
  onOwner(owner)
  await drive(owner)
  if (!owner.isLost) startTitle(owner.state, context)
  return owner.scopes?.leftForMs ?? 0
}

/**
 * The loop: fold, decide, act, settle, commit, again. Starting a turn, continuing after an answer and recovering after a crash all run this loop.
 * Resolves when nothing more can run and the conversation is released, or when another node has taken it. Rejects when everything that could run
 * needs tools of other nodes.
 */
export async function drive(owner: Owner): Promise<void> {
  while (!owner.isLost) {
    if (owner.isBehind) await owner.catchUp()
    if (owner.isClosing) {
      await owner.release()
      continue
    }
    const outcomes = owner.outcomes()
    const left = owner.missingTools.callsForOtherNodes(owner.state)
    // Calls for other nodes are not started here: they count as running.
    const busy =
      left.length === 0 ? owner.running() : new Set([...owner.running(), ...left.map(({ callId }) => callId)])
    const settled = owner.setsState ? await owner.withState(outcomes) : outcomes
    const decision = decide(owner.state, busy, settled)
    const { events, after, step } = decision

    if (step.type === 'terminate') {
      await owner.stop(step.turnId)
      await stopChildren(owner)
      continue
    }
    const missing = owner.scopes ? await owner.scopes.missing(decision) : null
    if (missing) await owner.waitForScope(missing)
    if (missing || owner.isClosing) continue
    // Park only when every child agent has been started and the parent knows how this conversation ended.
    const isComplete = !owner.children.areOwed(after)
    const parks = step.type === 'park' && isComplete
    if (events.length > 0 || parks) {
      const isCommitted = await owner.commit(events, after, parks ? 'park' : 'go_on')
      if (isCommitted) owner.forget(outcomes)
      if (isCommitted && parks) return
      continue
    }
    owner.forget(outcomes)
    if (!isComplete) {
      await owner.attempt('reaching parent or child agents failed', () => owner.children.settle(owner.state))
      continue
    }
    if (step.type === 'model') {
      const mayBegin = !owner.pauses.isFurther(step.turnId) || (await mayBeginFurther(owner))
      if (!mayBegin) continue
      if (owner.gate && !(await mayCallModel(owner, owner.gate))) continue
      owner.callModel(step)
    }
    if (owner.hasNews) continue
    if (step.type === 'wait' && owner.running().size === 0) owner.missingTools.release(left)
    await owner.changed()
  }
}

/** A queued turn of a paused conversation stays queued and due. */
async function mayBeginFurther(owner: Owner): Promise<boolean> {
  let isPaused = true
  const isAnswered = await owner.attempt('asking for pauses failed', async () => {
    isPaused = await owner.pauses.isPaused()
  })
  if (isAnswered && isPaused) await owner.close()
  return isAnswered && !isPaused && !owner.isClosing
}

const pollMs = 500

/**
 * Asks the child agents of a turn that is being cancelled to end. Each ends its call here when it does; one that does not in time is not waited
 * for. The time begins when all have been asked: a turn does not end before that, however long it takes.
 */
async function stopChildren(owner: Owner): Promise<void> {
  const { children, clock } = owner
  let giveUpAt = Number.POSITIVE_INFINITY
  const endWaiting = children.allowOneMore()
  try {
    const isLeft = (): boolean => owner.isLost || owner.isClosing
    while (!isLeft() && children.areOpen(owner.state) && clock.now() < giveUpAt) {
      const isAsked = await owner.attempt('cancelling child agents failed', () => children.cancel(owner.state))
      if (isAsked) giveUpAt = Math.min(giveUpAt, clock.now() + children.patienceMs)
      if (isAsked) await owner.readNext(pollMs)
      else await owner.catchUp()
    }
  } finally {
    endWaiting()
  }
}
