import { longestHeldWaitMs, type ModelGate } from '../limits/model-gate.ts'
import type { Owner } from './owner.ts'

/**
 * True if the account of the agent has budget left for a model call. Otherwise either the turn has waited here for a moment, and the loop looks at the log
 * again; or it was released with a wake-up, because a longer wait must hold neither a slot nor a process.
 */
export async function mayCallModel(owner: Owner, gate: ModelGate): Promise<boolean> {
  if (owner.isCallingModel) return true
  let waitMs = 0
  const isAsked = await owner.attempt('asking what an account has left failed', async () => {
    waitMs = await gate.enter(owner.state)
  })
  if (!isAsked || owner.isLost || owner.isClosing) return false
  if (waitMs === 0) return true
  if (waitMs <= longestHeldWaitMs) await owner.readNext(waitMs)
  // Durable from here: the turn waits, and any process can continue it.
  else if (await owner.commit([], owner.state, { inMs: waitMs })) owner.loseLease()
  return false
}
