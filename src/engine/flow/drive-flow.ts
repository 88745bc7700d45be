import type { FlowOwner } from './flow-owner.ts'

/**
 * The loop of a session: replay, decide, commit, act, again. Starting, going on after an answer, and recovering after a crash are all this.
 * Resolves when nothing can run any more and the session is let go, or when another node has taken it. Rejects with `DeterminismError` when
 * code and record differ; nothing has been written then.
 */
export async function driveFlow(owner: FlowOwner): Promise<void> {
  while (!owner.isLost) {
    await owner.catchUp()
    if (owner.isLost) return
    const decision = await owner.decide()
    if (decision.events.length > 0 || decision.parks) {
      const isCommitted = await owner.commit(decision)
      if (isCommitted && decision.parks) return
      continue
    }
    await owner.actOnOpened()
    await owner.changed()
  }
}
