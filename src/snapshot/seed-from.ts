import type { Json } from '../base/json.ts'
import type { Snapshot, SnapshotMessage } from '../log/snapshot.ts'

/** How much of a snapshot a log takes, in characters: it is in every prompt until the first summary. */
const mostCharacters = 48_000

/** What a log is seeded with: the newest messages that fit, as they were. Calls that were open have no end here. */
export function seedFrom(snapshot: Snapshot): Json {
  const { version, seq, title, summary } = snapshot
  const kept: SnapshotMessage[] = []
  let room = mostCharacters - (summary?.length ?? 0)
  for (const message of snapshot.messages.toReversed()) {
    room -= JSON.stringify(message.parts).length
    if (room < 0) break
    kept.unshift(message)
  }
  const seed: Snapshot = {
    ...{ version, seq, title, state: 'idle' },
    summary: summary === null ? null : summary.slice(0, mostCharacters),
    messages: kept,
  }
  return seed as unknown as Json
}
