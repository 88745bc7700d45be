import { decide } from '../../log/decide.ts'
import type { Owner } from './owner.ts'

/**
 * The loop: fold, decide, act, settle, commit, again. Starting a turn, going on after an answer, and recovering after a crash are all this.
 * Resolves when nothing can run any more and the conversation is let go, or when another node has taken it. Rejects when all that could run
 * needs tools of other nodes.
 */
export async function drive(owner: Owner): Promise<void> {
  while (!owner.isLost) {
    if (owner.isBehind) await owner.catchUp()
    if (owner.isClosing) {
      await owner.handOver()
      continue
    }
    const outcomes = owner.outcomes()
    const left = owner.missingTools.leftToOthers(owner.state)
    // What is left to others is not started here, as if it ran already.
    const busy =
      left.length === 0 ? owner.running() : new Set([...owner.running(), ...left.map(({ callId }) => callId)])
    const { events, after, step } = decide(owner.state, busy, outcomes)

    if (step.type === 'terminate') {
      await owner.stop(step.turnId)
      await stopChildren(owner)
      continue
    }
    // Let go only when every child agent has been started and the parent knows how this conversation ended.
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
    if (step.type === 'model') owner.callModel(step)
    if (owner.hasNews) continue
    if (step.type === 'wait' && owner.running().size === 0) owner.missingTools.leave(left)
    await owner.changed()
  }
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
