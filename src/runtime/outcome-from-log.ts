import { TurnNotFoundError } from '../errors/runtime-errors.ts'
import { foldEvents } from '../log/fold-events.ts'
import type { TenantStore } from '../store/store.ts'
import { outcomeOf, type TurnOutcome } from './turn-outcome.ts'

/** Of a turn that is not in the working set: it ended before the latest summary, and only the whole log has it, or it never was. */
export async function outcomeFromLog(store: TenantStore, id: string, turnId: string): Promise<TurnOutcome> {
  const whole = foldEvents(await store.streamEvents(id))
  const outcome = outcomeOf(id, whole, turnId)
  return outcome ?? { status: 'detached', turnId, reason: new TurnNotFoundError(id, turnId).message }
}
