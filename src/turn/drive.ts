import { decide } from '../log/decide.ts'
import type { Owner } from './owner.ts'

/**
 * The loop: fold, decide, act, settle, commit, again. Starting a turn, going on after an answer, and recovering after a crash are all this.
 * Resolves when nothing can run any more and the conversation is let go, or when another node has taken it.
 */
export async function drive(owner: Owner): Promise<void> {
  while (!owner.isLost) {
    await owner.catchUp()
    if (owner.isClosing) {
      await owner.handOver()
      continue
    }
    const outcomes = owner.outcomes()
    const { events, after, step } = decide(owner.state, owner.running(), outcomes)

    if (step.type === 'terminate') {
      await owner.stop(step.turnId)
      continue
    }
    const parks = step.type === 'park'
    if (events.length > 0 || parks) {
      const isCommitted = await owner.commit(events, after, parks ? 'park' : 'go_on')
      if (isCommitted) owner.forget(outcomes)
      if (isCommitted && parks) return
      continue
    }
    owner.forget(outcomes)
    if (step.type === 'model') owner.callModel(step)
    await owner.changed()
  }
}
