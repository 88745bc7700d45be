import type { Json } from '../base/json.ts'
import { isBlobRef } from './blob-ref.ts'
import type { AssistantPart, LogEvent, UserPart } from './events.ts'
import type { CallState, TurnItem } from './state.ts'

/** Limits of what is kept of one long value. */
const keptCharacters = 400
const keptMembers = 12
const keptParts = 8

/** About how many bytes were cut from a record. The event in the log is still complete. */
type Abridged = { readonly leftOut?: number }

/**
 * Cuts long fields of an event to their beginnings, so that a reader with little memory can continue. `leftOut` says how many bytes are missing. Fields that
 * the fold decides on are never cut.
 */
export function abridgeEvent<Event extends LogEvent>(event: Event): Event {
  return { ...event, content: abridgeFields(event.content) } as Event
}

/** Does the same for one item of a turn. */
export function abridgeItem<Item extends TurnItem>(item: Item): Item {
  return abridgeFields(item)
}

/** Does the same for a call: its arguments, its suspensions and answers, and its result. */
export function abridgeCall(call: CallState): CallState {
  const rounds = call.rounds.map((round) => ({
    ...abridgeFields(round),
    resolution: round.resolution && abridgeFields(round.resolution),
  }))
  return { ...abridgeFields(call), rounds, result: call.result && abridgeFields(call.result) }
}

/** How many bytes were cut from a call; 0 when it is complete. */
export function leftOutOf(call: CallState): number {
  let bytes = missing(call) + missing(call.result)
  for (const round of call.rounds) bytes += missing(round) + missing(round.resolution)
  return bytes
}

function missing(record: object | null): number {
  return (record as Abridged | null)?.leftOut ?? 0
}

/** Fields of events and states that can be long, and how each is cut. */
const longFields: Readonly<Record<string, (value: never) => unknown>> = {
  message: ({ parts }: { parts: readonly UserPart[] }) => ({ parts: abridgeParts(parts) }),
  parts: abridgeParts,
  object: abridge,
  args: abridge,
  prompt: abridge,
  schema: abridge,
  value: abridge,
  edited: ({ before, after }: { before: Json; after: Json }) => ({ before: abridge(before), after: abridge(after) }),
  result: abridge,
  error: abridge,
  feedback: abridge,
  regeneration: abridge,
  reason: abridge,
  name: abridge,
  providerCallId: abridge,
  finishReason: abridge,
  who: abridge,
  options: abridge,
  title: abridge,
  data: abridge,
  state: abridge,
  toolState: abridge,
}

function abridgeFields<T extends object>(record: T): T {
  let leftOut = missing(record)
  const shortened = { ...record } as Record<string, unknown>
  for (const [name, value] of Object.entries(record)) {
    const shorten = longFields[name]
    const weight = shorten === undefined || value === null ? 0 : weightOf(value)
    if (!shorten || weight <= keptCharacters) continue
    shortened[name] = shorten(value as never)
    leftOut += Math.max(0, weight - weightOf(shortened[name]))
  }
  return (leftOut > 0 ? { ...shortened, leftOut } : record) as T
}

/** Keeps every call, because the fold depends on them, and the beginnings of the first few other parts. */
function abridgeParts<Part extends UserPart | AssistantPart>(parts: readonly Part[]): Part[] {
  let others = 0
  return parts.flatMap((part): Part[] => {
    if (part.type === 'call') return [{ type: part.type, callId: part.callId } as Part]
    others += 1
    if (others > keptParts || (part.type === 'file' && !isBlobRef(part.data))) return []
    return part.type === 'file' ? [part] : [abridge(part as unknown as Json) as unknown as Part]
  })
}

/** Keys that say how a call ended. They are sorted first, so that they are never the ones cut. */
const tellingKeys = ['type', 'kind', 'ok', 'usage', 'error', 'reason', 'text', 'result']

/** The beginning of a value: the same kind of value, with its first members and characters. */
export function abridge(value: Json): Json {
  let [characters, members] = [keptCharacters, keptMembers]
  const shorten = (part: Json): Json => {
    if (typeof part === 'string') {
      const kept = part.slice(0, Math.max(0, characters)).replace(/[\ud800-\udbff]$/, '')
      characters -= kept.length
      return kept.length < part.length ? copyOf(`${kept}…`) : part
    }
    if (typeof part !== 'object' || part === null) return part
    if (Array.isArray(part)) return part.slice(0, Math.max(0, members)).flatMap((member) => takeMember(member))
    const entries = Object.entries(part).filter(([key]) => key.length <= keptCharacters)
    entries.sort(([one], [other]) => rank(one) - rank(other))
    return Object.fromEntries(entries.flatMap(([key, member]) => takeMember(member).map((kept) => [key, kept])))
  }
  const takeMember = (member: Json): Json[] => {
    members -= 1
    return members < 0 ? [] : [shorten(member)]
  }
  return shorten(value)
}

/** A slice of a string can keep the whole string in memory. A copy does not. */
function copyOf(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

function rank(key: string): number {
  const place = tellingKeys.indexOf(key)
  return place < 0 ? tellingKeys.length : place
}

/** About how many bytes a value takes, in memory or as JSON. Many small values weigh more than their text. */
export function weightOf(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length
  if (typeof value !== 'object' || value === null) return 8
  let weight = 32
  if (Array.isArray(value)) {
    for (const member of value) weight += 8 + weightOf(member)
    return weight
  }
  for (const key in value) weight += 16 + key.length + weightOf((value as Record<string, unknown>)[key])
  return weight
}
