import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { withTimeout } from '../../base/with-timeout.ts'
import type { Hold } from '../hold.ts'
import type { KeepAlive } from '../keep-alive.ts'
import type { SideTasks } from '../turn/side-tasks.ts'

/** How long everything that is held may take to be let go once it has been told to stop. */
const letGoMs = 2_000

type Parts = {
  readonly sideTasks: SideTasks
  readonly keepAlive: KeepAlive
  readonly clock: Clock
  readonly logger: Logger
}

type Held = { readonly owner: Hold | null; readonly done: Promise<unknown> }

/**
 * Lets go of all that is held. What a store that does not answer keeps from being let go is abandoned: nothing more is done under its leases, which
 * lapse, and it does not keep the process from ending.
 */
export async function letGoInTime(held: readonly Held[], parts: Parts): Promise<void> {
  const { keepAlive, clock, logger } = parts
  const isLetGo = await withTimeout<boolean>(letGo(held, parts), letGoMs, clock, () => false)
  if (isLetGo) return
  logger.warn('closing: not all was let go of in time; other nodes go on with it when its leases lapse')
  for (const { owner } of held) owner?.lose()
  keepAlive.end()
}

async function letGo(held: readonly Held[], { sideTasks, logger }: Parts): Promise<true> {
  const closing = held.map(async ({ owner, done }) => {
    await owner?.close()
    await done
  })
  await sideTasks.close()
  for (const result of await Promise.allSettled(closing)) {
    if (result.status === 'rejected') logger.error('closing a conversation failed', { error: result.reason })
  }
  return true
}
