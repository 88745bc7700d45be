import { BusyError, ForceNeededError, TurnNotFoundError, TurnSupersededError } from '../base/errors/runtime-errors.ts'
import { ConversationNotFoundError } from '../base/errors/store-errors.ts'
import type { NewEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { type ConversationState, emptyState, findTurn, openTurn, queuedTurns, type TurnState } from '../log/state.ts'
import { placeOf, unrepeatable } from '../log/superseded.ts'
import { pagesAfter } from '../store/log-pages.ts'
import type { TenantStore } from '../store/store.ts'
import { loadWhole } from '../store/working-sets.ts'
import { turnFromLog } from './read/turn-events.ts'

/** Which turn a message replaces: null for the newest. `force`: even if that may repeat what its tools did. */
export type Replacing = { readonly turnId: string | null; readonly force: boolean }

type Log = {
  readonly id: string
  readonly store: TenantStore
  readonly state: () => Promise<ConversationState>
}

/** The turn that is replaced, with its messages whole, and the log that this was decided on. */
export type ReplacedTurn = { readonly turn: TurnState; readonly lastSeq: number }

/**
 * The turn that a message takes the place of. Throws `BusyError` while a turn is open or queued, `TurnNotFoundError` and `TurnSupersededError` where there is
 * no such turn to replace, and `ForceNeededError` where a tool may have had an effect that must not be repeated.
 */
export async function findReplaced(log: Log, { turnId, force }: Replacing): Promise<ReplacedTurn> {
  const { id } = log
  let searched: Promise<boolean> | null = null
  const isInLog = (): Promise<boolean> => (searched ??= hasTurn(log, turnId))
  const state = await stateWith(log, turnId, isInLog)
  const busy = openTurn(state) ?? queuedTurns(state)[0]
  if (busy) throw new BusyError(id, busy.turnId, 'replace')
  const turn = turnIn(state, turnId)
  if (!turn) {
    if (turnId === null || state.lastSeq === 0) throw new ConversationNotFoundError(id)
    throw (await isInLog()) ? new TurnSupersededError(id, turnId) : new TurnNotFoundError(id, turnId)
  }
  const acted = unrepeatable(state.turns.slice(state.turns.indexOf(turn)))
  if (acted.length > 0 && !force) throw new ForceNeededError(id, turn.turnId, acted)
  return { turn, lastSeq: state.lastSeq }
}

/** The mark that withdraws the turn and all after it. */
export function supersededBy(turn: TurnState, by: string): NewEvent {
  return { type: 'superseded', content: { fromSeq: placeOf(turn), by } }
}

function turnIn(state: ConversationState, turnId: string | null): TurnState | null {
  return turnId === null ? (state.turns.findLast(({ opened }) => opened) ?? null) : findTurn(state, turnId)
}

/** A state that has all of the turn and of those after it. What readers keep may be trimmed, and a summary may stand for the turn. */
async function stateWith(
  { id, store, state: load }: Log,
  turnId: string | null,
  isInLog: () => Promise<boolean>,
): Promise<ConversationState> {
  const shown = await load()
  const isOpen = openTurn(shown) !== null
  if (isOpen || (!shown.isTrimmed && turnIn(shown, turnId)) || !shown.hasOlder) return shown
  // The log may be larger than memory: it is not held for a turn that it does not have.
  if (!turnIn(shown, turnId) && !(await isInLog())) return shown
  const { state } = await loadWhole(store, id)
  return turnIn(state, turnId) ? state : wholeLog(store, id)
}

/** Reads the whole log, and holds little of it. Whether the turn was withdrawn, it does not tell. */
async function hasTurn({ id, store }: Log, turnId: string | null): Promise<boolean> {
  return turnId === null || findTurn(await turnFromLog(store, id, turnId), turnId) !== null
}

async function wholeLog(store: TenantStore, id: string): Promise<ConversationState> {
  let state = emptyState
  for await (const { events } of pagesAfter(store, id)) state = foldEvents(events, state)
  return state
}
