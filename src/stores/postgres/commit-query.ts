import type { PreparedChange, StoredAttrs } from '../../store/driver.ts'
import { arrayLiteral } from './array-literal.ts'
import { wavesOf } from './commit-waves.ts'
import type { Statement } from './database.ts'

/** A change with the conversation it is for. */
export type Addressed = { readonly tenant: string; readonly id: string; readonly change: PreparedChange }

export type CommitQuery = { readonly statement: Statement; readonly values: string[] }

/** The function has defaults for what most commits do not have; then it is not sent. */
export function commitQuery(schema: string, batch: readonly Addressed[], hasMergedSettings: boolean): CommitQuery {
  const changes = batch.map(({ change }) => change)
  const values = [...eventParameters(batch, changes, hasMergedSettings), ...otherParameters(changes)]
  const places = values.map((_, index) => `$${index + 1}`)
  const text = `SELECT change, outcome, seq, at, call_id, round FROM ${schema}.commit_changes(${places.join(', ')})`
  return { statement: { name: `commit_${values.length}`, text }, values }
}

/** In the order the function `commit_changes` takes them. */
function eventParameters(
  batch: readonly Addressed[],
  changes: readonly PreparedChange[],
  hasMergedSettings: boolean,
): string[] {
  const waves = wavesOf(batch)
  const events = numbered(changes, (change) => change.events)
  return [
    String(Math.max(...waves)),
    String(hasMergedSettings),
    column(waves, (wave) => wave),
    column(batch, ({ tenant }) => tenant),
    column(batch, ({ id }) => id),
    column(changes, ({ expectedSeq }) => expectedSeq),
    column(changes, ({ epoch }) => epoch),
    column(changes, ({ key }) => key),
    column(changes, ({ digest }) => digest),
    column(changes, ({ creates }) => creates),
    column(changes, (change) => change.events.length),
    column(changes, ({ attrs }) => attrs.status ?? null),
    column(changes, ({ attrs }) => attrs.fsmState ?? null),
    column(changes, ({ wake }) => wake.type),
    column(changes, ({ wake }) => (wake.type === 'in' ? wake.ms : null)),
    column(changes, ({ releasesLease }) => releasesLease),
    column(changes, ({ attrs }) => attrs.settings !== undefined),
    column(events, ({ change }) => change),
    column(events, ({ position }) => position),
    column(events, ({ item }) => item.type),
    column(events, ({ item }) => item.content),
  ]
}

/** None where none of them has an item. */
function otherParameters(changes: readonly PreparedChange[]): string[] {
  const attrs = numbered(changes, (change) => (setsSeldomAttrs(change.attrs) ? [change.attrs] : []))
  const resolves = numbered(changes, (change) => change.resolve)
  const calls = numbered(changes, (change) => change.calls)
  const blobs = numbered(changes, (change) => change.blobs)
  if (attrs.length + resolves.length + calls.length + blobs.length === 0) return []
  return [
    column(attrs, ({ change }) => change),
    column(attrs, ({ item }) => item.kind ?? null),
    column(attrs, ({ item }) => item.agent ?? null),
    column(attrs, ({ item }) => item.settings ?? null),
    column(attrs, ({ item }) => item.title ?? null),
    column(attrs, ({ item }) => item.title !== undefined),
    column(attrs, ({ item }) => item.parent ?? null),
    column(attrs, ({ item }) => item.childOf ?? null),
    column(resolves, ({ change }) => change),
    column(resolves, ({ item }) => item.callId),
    column(resolves, ({ item }) => item.round),
    column(resolves, ({ item }) => item.status),
    column(resolves, ({ item }) => item.result),
    column(resolves, ({ item }) => item.eventIndex),
    column(resolves, ({ item }) => item.onlyWhenDue),
    column(calls, ({ change }) => change),
    column(calls, ({ item }) => item.id),
    column(calls, ({ item }) => item.name),
    column(calls, ({ item }) => item.executor),
    column(calls, ({ item }) => item.status),
    column(calls, ({ item }) => item.args),
    column(calls, ({ item }) => item.result),
    column(calls, ({ item }) => item.round),
    column(calls, ({ item }) => item.kind),
    column(calls, ({ item }) => item.prompt),
    column(calls, ({ item }) => item.expiresInMs),
    column(blobs, ({ change }) => change),
    column(blobs, ({ item }) => item),
  ]
}

/** The items of all changes in one list; both numbers count from 1. */
function numbered<T>(
  changes: readonly PreparedChange[],
  itemsOf: (change: PreparedChange) => readonly T[],
): { change: number; position: number; item: T }[] {
  return changes.flatMap((change, index) =>
    itemsOf(change).map((item, position) => ({ change: index + 1, position: position + 1, item })),
  )
}

function column<T>(items: readonly T[], read: (item: T) => string | number | boolean | null): string {
  return arrayLiteral(items.map(read))
}

/** Status and cached state come with almost every commit; these are written apart, so that the others stay cheap. */
function setsSeldomAttrs({ kind, agent, settings, title, parent }: StoredAttrs): boolean {
  return [kind, agent, settings, title, parent].some((value) => value !== undefined)
}
