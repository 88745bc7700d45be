import type { Owner } from './owner.ts'

const pollMs = 500

/**
 * Asks the child agents of a turn that is being cancelled to end. Each ends its call here when it does; one that does not in time is not waited
 * for. The time begins when all have been asked: a turn does not end before that, however long it takes.
 */
export async function stopChildren(owner: Owner): Promise<void> {
  const { children, clock } = owner
  let giveUpAt = Number.POSITIVE_INFINITY
  const leaveRoom = children.makeRoom()
  try {
    const isLeft = (): boolean => owner.isLost || owner.isClosing
    while (!isLeft() && children.areOpen(owner.state) && clock.now() < giveUpAt) {
      const isAsked = await owner.attempt('cancelling child agents failed', () => children.cancel(owner.state))
      if (isAsked) giveUpAt = Math.min(giveUpAt, clock.now() + children.patienceMs)
      if (isAsked) await owner.readNext(pollMs)
      else await owner.catchUp()
    }
  } finally {
    leaveRoom()
  }
}
