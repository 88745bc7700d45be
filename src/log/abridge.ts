import type { Json } from '../base/json.ts'
import { isBlobRef } from './blob-ref.ts'
import type { AssistantPart, LogEvent, UserPart } from './events.ts'
import type { CallState, TurnItem } from './state.ts'

/** What the beginning of a value may take. */
const keptCharacters = 400
const keptMembers = 12
const keptParts = 8

/** Where something was left out of what was read: how many bytes of it, about. The event itself has all of it. */
type Abridged = { readonly leftOut?: number }

/**
 * The beginnings of what is long in an event, so that a reader with little room can go on. Says in `leftOut` how much is missing. Everything that the fold decides
 * on stays.
 */
export function abridgeEvent<Event extends LogEvent>(event: Event): Event {
  return { ...event, content: abridgeFields(event.content) } as Event
}

/** The same of what a turn consists of. */
export function abridgeItem<Item extends TurnItem>(item: Item): Item {
  return abridgeFields(item)
}

/** The same of a call: its arguments, what was asked and answered, and its result. */
export function abridgeCall(call: CallState): CallState {
  const rounds = call.rounds.map((round) => ({
    ...abridgeFields(round),
    resolution: round.resolution && abridgeFields(round.resolution),
  }))
  return { ...abridgeFields(call), rounds, result: call.result && abridgeFields(call.result) }
}

/** How much is missing of a call. 0: nothing. */
export function leftOutOf(call: CallState): number {
  let bytes = missing(call) + missing(call.result)
  for (const round of call.rounds) bytes += missing(round) + missing(round.resolution)
  return bytes
}

function missing(record: object | null): number {
  return (record as Abridged | null)?.leftOut ?? 0
}

/** The members that may be long, under whichever name an event or a state has them. */
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
  state: abridge,
}

function abridgeFields<T extends object>(record: T): T {
  let leftOut = missing(record)
  const kept = { ...record } as Record<string, unknown>
  for (const [name, value] of Object.entries(record)) {
    const shorten = longFields[name]
    const weight = shorten === undefined || value === null ? 0 : weightOf(value)
    if (!shorten || weight <= keptCharacters) continue
    kept[name] = shorten(value as never)
    leftOut += Math.max(0, weight - weightOf(kept[name]))
  }
  return (leftOut > 0 ? { ...kept, leftOut } : record) as T
}

/** Calls stay, because the fold goes by them; of the rest, the beginnings of the first. */
function abridgeParts<Part extends UserPart | AssistantPart>(parts: readonly Part[]): Part[] {
  let others = 0
  return parts.flatMap((part): Part[] => {
    if (part.type === 'call') return [{ type: part.type, callId: part.callId } as Part]
    others += 1
    if (others > keptParts || (part.type === 'file' && !isBlobRef(part.data))) return []
    return part.type === 'file' ? [part] : [abridge(part as unknown as Json) as unknown as Part]
  })
}

/** What says how a call ended comes first, so that it is never what is left out. */
const tellingKeys = ['type', 'kind', 'ok', 'usage', 'error', 'reason', 'text', 'result']

/** The beginning of a value: of the same kind, with its first members and characters. */
export function abridge(value: Json): Json {
  let [characters, members] = [keptCharacters, keptMembers]
  const shorten = (part: Json): Json => {
    if (typeof part === 'string') {
      const kept = part.slice(0, Math.max(0, characters)).replace(/[\ud800-\udbff]$/, '')
      characters -= kept.length
      return kept.length < part.length ? copyOf(`${kept}…`) : part
    }
    if (typeof part !== 'object' || part === null) return part
    if (Array.isArray(part)) return part.slice(0, Math.max(0, members)).flatMap((member) => taken(member))
    const entries = Object.entries(part).filter(([key]) => key.length <= keptCharacters)
    entries.sort(([one], [other]) => rank(one) - rank(other))
    return Object.fromEntries(entries.flatMap(([key, member]) => taken(member).map((kept) => [key, kept])))
  }
  const taken = (member: Json): Json[] => {
    members -= 1
    return members < 0 ? [] : [shorten(member)]
  }
  return shorten(value)
}

/** Engines let a part of a string share the memory of the whole, and so keep all of it. A copy does not. */
function copyOf(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

function rank(key: string): number {
  const place = tellingKeys.indexOf(key)
  return place < 0 ? tellingKeys.length : place
}

/** About how many bytes a value takes in memory, and as JSON: many small values weigh more than their text. */
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
