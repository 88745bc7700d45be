import type { LogEvent } from 'perdure/client'

/** A conversation and those it was forked from, back to the first. `at` is the last event that was copied. */
export type Line = { readonly id: string; readonly lineage: readonly { readonly id: string; readonly at: number }[] }

/** The last event that two logs have in common, and the oldest conversation that has it. Null: they are not related. */
export function lastCommon(one: Line, other: Line): { readonly id: string; readonly seq: number } | null {
  const mine = reach(one)
  for (const [id, seq] of reach(other)) {
    const own = mine.get(id)
    if (own !== undefined) return { id, seq: Math.min(own, seq) }
  }
  return null
}

/** How many events of each ancestor a conversation begins with, the nearest first. */
function reach({ id, lineage }: Line): Map<string, number> {
  const found = new Map([[id, Number.POSITIVE_INFINITY]])
  let least = Number.POSITIVE_INFINITY
  for (const { id: ancestor, at } of lineage) {
    if (found.has(ancestor)) break
    least = Math.min(least, at)
    found.set(ancestor, least)
  }
  return found
}

/** A conversation in the tree of forks. */
export type ForkNode = {
  readonly id: string
  readonly title: string | null
  /** The last event that was copied from the one above; null at the root. */
  readonly at: number | null
  readonly lastSeq: number | null
  readonly forks: readonly ForkNode[]
}

export type ForkRecord = {
  readonly id: string
  readonly title: string | null
  readonly lastSeq: number
  /** A child agent has a parent, too, but no `at`. */
  readonly parent: { readonly id: string; readonly at?: number } | null
}

/** The tree around a conversation: its ancestors in one line, and every fork that is known. */
export function forkTree(line: Line, records: readonly ForkRecord[]): ForkNode {
  const known = new Map(records.map((record) => [record.id, record]))
  const root = line.lineage.at(-1)?.id ?? line.id
  const parentOf = new Map<string, { readonly id: string; readonly at: number }>()
  let child = line.id
  for (const { id, at } of line.lineage) {
    parentOf.set(child, { id, at })
    child = id
  }
  for (const { id, parent } of records)
    if (parent?.at !== undefined && !parentOf.has(id)) parentOf.set(id, { id: parent.id, at: parent.at })
  const childrenOf = new Map<string, string[]>()
  for (const [id, { id: parent }] of parentOf) childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), id])
  const seen = new Set<string>()
  const node = (id: string): ForkNode => {
    seen.add(id)
    const record = known.get(id)
    const forks = (childrenOf.get(id) ?? [])
      .filter((fork) => !seen.has(fork))
      .sort((a, b) => parentOf.get(a)!.at - parentOf.get(b)!.at || (a < b ? -1 : 1))
      .map(node)
    return {
      id,
      title: record?.title ?? null,
      at: parentOf.get(id)?.at ?? null,
      lastSeq: record?.lastSeq ?? null,
      forks,
    }
  }
  return node(root)
}

/** A question and its answer, for comparing two logs. */
export type Exchange = { readonly seq: number; readonly asked: string; readonly answered: string }

/** What was said after the common events, turn by turn. Answers that were sent back by a hook or withheld do not count. */
export function exchangesAfter(events: readonly LogEvent[], seq: number): Exchange[] {
  const hidden = new Set(
    events.flatMap((event) =>
      event.type === 'regeneration' || event.type === 'withheld' ? [event.content.messageId] : [],
    ),
  )
  const turns = new Map<string, { seq: number; asked: string[]; answered: string[] }>()
  for (const event of events) {
    if (event.seq <= seq || (event.type !== 'user_msg' && event.type !== 'assistant_msg')) continue
    const { turnId } = event.content
    const turn = turns.get(turnId) ?? { seq: event.seq, asked: [], answered: [] }
    turns.set(turnId, turn)
    if (event.type === 'user_msg') turn.asked.push(texts(event.content.message.parts))
    else if (!hidden.has(event.content.messageId)) turn.answered.push(texts(event.content.parts))
  }
  return [...turns.values()].map(({ seq: first, asked, answered }) => ({
    seq: first,
    asked: asked.join('\n').trim(),
    answered: answered.filter((text) => text !== '').join('\n\n'),
  }))
}

function texts(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.flatMap(({ type, text }) => (type === 'text' && text ? [text] : [])).join('\n')
}
