import type { Change } from '../../store/change.ts'
import type { TurnContext } from './turn-context.ts'

type Where = Pick<TurnContext, 'tenant' | 'id' | 'store' | 'logger'>

/**
 * Which rows the commits of an owner end. A commit under the lease that is refused as stale on the very log it was decided on has met a row that says
 * something else than the log. The log wins: the commit is made without that row, and the doctor rebuilds it.
 */
export class RowGuards {
  /** The rows that are pending, by call and round; null as long as none has disagreed. */
  #pending: ReadonlySet<string> | null = null

  /** A row has disagreed: from now on only those that are pending in the store are ended. */
  async distrust({ tenant, id, store, logger }: Where): Promise<void> {
    logger.error('the row of a call is not what the log says; run perdure doctor', { tenant, id })
    const rows = await store.pendingToolCalls(id)
    this.#pending = new Set(rows.map((row) => keyOf(row.id, row.round)))
  }

  /** A commit was made, and the rows are what they are. */
  trust(): void {
    this.#pending = null
  }

  guarded<C extends Pick<Change, 'resolve'>>(change: C): C {
    const pending = this.#pending
    if (!pending || !change.resolve) return change
    return { ...change, resolve: change.resolve.filter(({ callId, round }) => pending.has(keyOf(callId, round))) }
  }
}

function keyOf(callId: string, round: number): string {
  return `${round} ${callId}`
}
