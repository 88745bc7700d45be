import type { LogEvent } from '../log/events.ts'
import type { Missing } from '../log/fold-events.ts'
import { decodeEvent } from '../store/rows.ts'
import type { UpkeepReader } from '../store/upkeep-reader.ts'
import type { ConversationExaminer } from './examine-conversation.ts'
import type { Folded } from './log-fold.ts'

type Ignored = {
  readonly seq: number
  readonly type: string
  readonly why: string
  readonly missing: string | null
}

const mostKept = 1_000

/** The events of one log that its fold passed over. */
export class IgnoredEvents {
  readonly #kept: Ignored[] = []
  #left = 0

  add({ seq, type }: LogEvent, why: string, missing?: Missing): void {
    if (this.#kept.length < mostKept) this.#kept.push({ seq, type, why, missing: missing ? nameOf(missing) : null })
    else this.#left += 1
  }

  /**
   * Tells of those that are about nothing in the log. The doctor folds a log of any length in little memory and lets go of turns that have ended, so what
   * such an event names is looked for in the log itself.
   */
  async tell(reader: UpkeepReader, examined: ConversationExaminer, folded: Folded | null): Promise<void> {
    const wanted = new Set(this.#kept.flatMap(({ missing }) => missing ?? []))
    const places = wanted.size === 0 ? new Map<string, number>() : await firstPlaces(reader, examined, wanted)
    for (const { seq, type, why, missing } of this.#kept) {
      const place = missing === null ? undefined : places.get(missing)
      if (place === undefined || place > seq) examined.add('event_ignored', `event ${seq} (${type}) ${why}`)
    }
    const mark = folded?.kind === 'conversation' ? folded.state.withheld : undefined
    // A fork may begin between a mark and its message.
    if (mark && examined.forkedAt === null)
      examined.add('event_ignored', `message '${mark.messageId}' is withheld, and never came`)
    if (this.#left > 0) examined.add('event_ignored', `${this.#left} more events are about nothing in the log`)
  }
}

/** Where each of these turns, calls and messages came into the log. */
async function firstPlaces(
  reader: UpkeepReader,
  { tenant, conversation }: ConversationExaminer,
  wanted: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const places = new Map<string, number>()
  for await (const { type, row } of reader.rows(tenant, conversation.id)) {
    if (type !== 'event') break
    if (!['user_msg', 'assistant_msg', 'tool_call'].includes(row.type)) continue
    const name = madeBy(decodeEvent(conversation.id, row))
    if (name !== null && wanted.has(name) && !places.has(name)) places.set(name, row.seq)
  }
  return places
}

function madeBy(event: LogEvent): string | null {
  if (event.type === 'user_msg') return nameOf({ what: 'turn', id: event.content.turnId })
  if (event.type === 'assistant_msg') return nameOf({ what: 'message', id: event.content.messageId })
  return event.type === 'tool_call' ? nameOf({ what: 'call', id: event.content.callId }) : null
}

function nameOf({ what, id }: Missing): string {
  return `${what} ${id}`
}
