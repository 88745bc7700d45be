import type { Draft, View, ViewMessage } from 'perdure/client'

/** A turn as its log folds, where the view still has it. */
export type Turn = View['log']['turns'][number]
export type Call = Turn['calls'][number]
export type Note = View['notes'][number]

/** A line of a transcript. `key` is the same as long as the line is about the same thing. `isContinued`: the agent goes on with what it does in the line above. */
export type Row =
  | {
      readonly type: 'message'
      readonly key: string
      readonly message: ViewMessage
      readonly isSteering: boolean
      readonly isContinued: boolean
    }
  /** A message that a hook sent back to be written again. */
  | { readonly type: 'regenerated'; readonly key: string; readonly seq: number; readonly feedback: string }
  | { readonly type: 'note'; readonly key: string; readonly note: Note }
  /** How a turn ended, where there is something to say about it. */
  | { readonly type: 'end'; readonly key: string; readonly turn: Turn; readonly isNewest: boolean }
  | { readonly type: 'draft'; readonly key: string; readonly draft: Draft; readonly isContinued: boolean }
  | { readonly type: 'unknown'; readonly key: string; readonly eventType: string; readonly seq: number }

/** The lines of a view, oldest first. `messages` may begin before it. Pure. */
export function rowsOf(view: View, messages: readonly ViewMessage[] = view.messages): Row[] {
  const { turns } = view.log
  const newest = turns.findLast(({ opened }) => opened) ?? null
  const placed: { readonly seq: number; readonly row: Row }[] = []
  const begun = new Set<string>()
  for (const message of messages) {
    const isSteering = message.role === 'user' && begun.has(message.turnId) && !message.isQueued
    begun.add(message.turnId)
    placed.push({
      seq: message.seq,
      row: { type: 'message', key: `m${message.seq}`, message, isSteering, isContinued: false },
    })
  }
  const firstSeq = messages[0]?.seq ?? 0
  for (const turn of turns) {
    for (const item of turn.items) {
      if (item.type !== 'assistant' || !item.regeneration || item.seq < firstSeq) continue
      const { feedback } = item.regeneration
      placed.push({ seq: item.seq, row: { type: 'regenerated', key: `r${item.seq}`, seq: item.seq, feedback } })
    }
    if (!turn.end || !turn.opened || isPlainEnd(turn)) continue
    placed.push({ seq: turn.end.seq, row: { type: 'end', key: `e${turn.turnId}`, turn, isNewest: turn === newest } })
  }
  for (const note of view.notes) {
    if (note.seq >= firstSeq) placed.push({ seq: note.seq, row: { type: 'note', key: `n${note.seq}`, note } })
  }
  placed.sort((one, other) => one.seq - other.seq)
  const rows = inTurnOrder(placed, view)
  for (const draft of view.drafts) rows.push({ type: 'draft', key: `d${draft.messageId}`, draft, isContinued: false })
  if (view.unknownEvent) {
    const { type, seq } = view.unknownEvent
    rows.push({ type: 'unknown', key: 'unknown', eventType: type, seq })
  }
  return rows.map((row, index) => (isContinuedBy(rows[index - 1], row) ? { ...row, isContinued: true } : row))
}

function isContinuedBy(above: Row | undefined, row: Row): boolean {
  const turn = agentTurn(row)
  return turn !== null && above !== undefined && agentTurn(above) === turn
}

/** The turn whose agent speaks in a line. */
function agentTurn(row: Row): string | null {
  if (row.type === 'draft') return row.draft.turnId
  return row.type === 'message' && row.message.role === 'assistant' ? row.message.turnId : null
}

/** A message that was queued while another turn ran stands after that turn, as in the view. */
function inTurnOrder(placed: readonly { readonly seq: number; readonly row: Row }[], { log }: View): Row[] {
  const place = new Map(log.turns.map((turn, index) => [turn.turnId, index]))
  const turnOf = ({ row }: (typeof placed)[number]): number | undefined => {
    if (row.type === 'message') return place.get(row.message.turnId)
    return row.type === 'end' ? place.get(row.turn.turnId) : undefined
  }
  let last = -1
  const keyed = placed.map((entry) => {
    last = turnOf(entry) ?? last
    return { entry, turn: turnOf(entry) ?? last }
  })
  // Sorting is stable: within a turn the order of the log stays.
  return keyed.sort((one, other) => one.turn - other.turn).map(({ entry }) => entry.row)
}

/** A turn that completed at once needs no line: its answer says it. */
function isPlainEnd({ end, discarded }: Turn): boolean {
  return end?.status === 'completed' && !end.reason && !discarded
}

/** The calls of a view by their ids, with who answered them and when. */
export function callsOf({ log }: View): ReadonlyMap<string, Call> {
  return new Map(log.turns.flatMap((turn) => turn.calls.map((call) => [call.callId, call] as const)))
}

/** Whether an event belongs to a line: to its message, or to one of the calls of it. */
export function hasEvent(row: Row, seq: number, calls: ReadonlyMap<string, Call>): boolean {
  if (row.type === 'end') return row.turn.end?.seq === seq
  if (row.type === 'note') return row.note.seq === seq
  if (row.type !== 'message') return 'seq' in row && row.seq === seq
  return isOfMessage(row.message, seq, calls)
}

/** Whether an event is the message, or one of its calls. */
export function isOfMessage(message: ViewMessage, seq: number, calls: ReadonlyMap<string, Call>): boolean {
  if (message.seq === seq) return true
  if (message.role === 'user') return false
  return message.parts.some((part) => {
    const call = part.type === 'call' ? calls.get(part.callId) : undefined
    if (!call) return false
    const rounds = call.rounds.flatMap((round) => [round.seq, round.resolution?.seq])
    return [call.seq, call.startedSeq, call.result?.seq, ...rounds].includes(seq)
  })
}
