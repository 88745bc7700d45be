import type { PreparedChange, StoredAttrs } from '../driver.ts'
import { arrayLiteral } from './columns.ts'
import type { Statement } from './database.ts'
import { isWithin, limitValues } from './limit-values.ts'

/** A change and its conversation. */
export type Addressed = { readonly tenant: string; readonly id: string; readonly change: PreparedChange }

export type CommitQuery = { readonly statement: Statement; readonly values: string[] }

/** Parameters that most commits do not need are left out; the function has defaults for them. */
export function commitQuery(schema: string, batch: readonly Addressed[], hasMergedSettings: boolean): CommitQuery {
  const changes = batch.map(({ change }) => change)
  const values = [...eventParameters(batch, changes, hasMergedSettings), ...otherParameters(changes)]
  const places = values.map((_, index) => `$${index + 1}`)
  if (changes.some(({ expectedAt, expectedAgent }) => expectedAt !== null || expectedAgent !== null)) {
    values.push(arrayLiteral(changes, ({ expectedAt }) => expectedAt))
    values.push(arrayLiteral(changes, ({ expectedAgent }) => expectedAgent))
    places.push(`p_expected_at => $${values.length - 1}`, `p_expected_agent => $${values.length}`)
  }
  if (changes.some(({ needsFree }) => needsFree)) {
    values.push(arrayLiteral(changes, ({ needsFree }) => needsFree))
    places.push(`p_needs_free => $${values.length}`)
  }
  if (changes.some(({ attrs }) => attrs.idleSeq !== undefined)) {
    values.push(arrayLiteral(changes, ({ attrs }) => attrs.idleSeq ?? null))
    places.push(`p_idle_seq => $${values.length}`)
  }
  const acquires = changes.flatMap((change) => change.acquires ?? [])
  if (acquires.some(({ suspects }) => !suspects)) {
    values.push(arrayLiteral(acquires, ({ suspects }) => suspects))
    places.push(`l_suspects => $${values.length}`)
  }
  if (acquires.some(({ limits }) => isWithin(limits))) {
    const columns = ['l_tenant_limit', 'l_agent_limit', 'l_account', 'l_account_limit']
    for (const [index, name] of columns.entries()) {
      values.push(arrayLiteral(acquires, ({ limits }) => limitValues(limits)[index]!))
      places.push(`${name} => $${values.length}`)
    }
  }
  const attrs = changes.flatMap((change) => (setsSeldomAttrs(change.attrs) ? [change.attrs] : []))
  if (attrs.some(({ owner }) => owner !== undefined)) {
    values.push(arrayLiteral(attrs, ({ owner }) => owner ?? null))
    places.push(`a_owner => $${values.length}`)
  }
  const calls = changes.flatMap((change) => change.calls)
  if (calls.some(({ meta }) => meta !== null)) {
    values.push(arrayLiteral(calls, ({ meta }) => meta))
    places.push(`c_meta => $${values.length}`)
  }
  if (calls.some(({ notice }) => notice !== null)) {
    values.push(arrayLiteral(calls, ({ notice }) => notice))
    places.push(`c_note => $${values.length}`)
  }
  const text = `SELECT change, outcome, seq, at, call_id, round FROM ${schema}.commit_changes(${places.join(', ')})`
  return { statement: { name: `commit_${values.length}${placesNamed(places)}`, text }, values }
}

/** A short name for the set of named parameters in use: Postgres cuts the name of a statement after 63 characters. */
function placesNamed(places: readonly string[]): string {
  const names = places.flatMap((place) => place.match(/^\w+(?= =>)/)?.[0] ?? [])
  // These come with the account.
  const said = names
    .filter((name) => !/^l_.*_limit$/.test(name))
    .map((name) => (name === 'l_account' ? 'l_within' : name))
  return said.map((name) => `_${name.replace(/^[plac]_(expected_)?/, '')}`).join('')
}

/** In the order of the parameters of `commit_changes`. */
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
    arrayLiteral(waves, (wave) => wave),
    arrayLiteral(batch, ({ tenant }) => tenant),
    arrayLiteral(batch, ({ id }) => id),
    arrayLiteral(changes, ({ expectedSeq }) => expectedSeq),
    arrayLiteral(changes, ({ epoch }) => epoch),
    arrayLiteral(changes, ({ key }) => key),
    arrayLiteral(changes, ({ digest }) => digest),
    arrayLiteral(changes, ({ creates }) => creates),
    arrayLiteral(changes, (change) => change.events.length),
    arrayLiteral(changes, ({ attrs }) => attrs.status ?? null),
    arrayLiteral(changes, ({ attrs }) => attrs.fsmState ?? null),
    arrayLiteral(changes, ({ wake }) => wake.type),
    arrayLiteral(changes, ({ wake }) => (wake.type === 'in' ? wake.ms : null)),
    arrayLiteral(changes, ({ releasesLease }) => releasesLease),
    arrayLiteral(changes, ({ attrs }) => attrs.settings !== undefined),
    arrayLiteral(events, ({ change }) => change),
    arrayLiteral(events, ({ position }) => position),
    arrayLiteral(events, ({ item }) => item.type),
    arrayLiteral(events, ({ item }) => item.content),
  ]
}

/** Empty when none of the changes has such items. */
function otherParameters(changes: readonly PreparedChange[]): string[] {
  const attrs = numbered(changes, (change) => (setsSeldomAttrs(change.attrs) ? [change.attrs] : []))
  const resolves = numbered(changes, (change) => change.resolve)
  const calls = numbered(changes, (change) => change.calls)
  const blobs = numbered(changes, (change) => change.blobs)
  const leases = numbered(changes, ({ acquires }) => (acquires ? [acquires] : []))
  if (attrs.length + resolves.length + calls.length + blobs.length + leases.length === 0) return []
  return [
    arrayLiteral(attrs, ({ change }) => change),
    arrayLiteral(attrs, ({ item }) => item.kind ?? null),
    arrayLiteral(attrs, ({ item }) => item.agent ?? null),
    arrayLiteral(attrs, ({ item }) => item.settings ?? null),
    arrayLiteral(attrs, ({ item }) => item.title ?? null),
    arrayLiteral(attrs, ({ item }) => item.title !== undefined),
    arrayLiteral(attrs, ({ item }) => item.parent ?? null),
    arrayLiteral(attrs, ({ item }) => item.childOf ?? null),
    arrayLiteral(resolves, ({ change }) => change),
    arrayLiteral(resolves, ({ item }) => item.callId),
    arrayLiteral(resolves, ({ item }) => item.round),
    arrayLiteral(resolves, ({ item }) => item.status),
    arrayLiteral(resolves, ({ item }) => item.result),
    arrayLiteral(resolves, ({ item }) => item.eventIndex),
    arrayLiteral(resolves, ({ item }) => item.onlyWhenDue),
    arrayLiteral(calls, ({ change }) => change),
    arrayLiteral(calls, ({ item }) => item.id),
    arrayLiteral(calls, ({ item }) => item.name),
    arrayLiteral(calls, ({ item }) => item.executor),
    arrayLiteral(calls, ({ item }) => item.status),
    arrayLiteral(calls, ({ item }) => item.args),
    arrayLiteral(calls, ({ item }) => item.result),
    arrayLiteral(calls, ({ item }) => item.round),
    arrayLiteral(calls, ({ item }) => item.kind),
    arrayLiteral(calls, ({ item }) => item.prompt),
    arrayLiteral(calls, ({ item }) => item.expiresInMs),
    arrayLiteral(blobs, ({ change }) => change),
    arrayLiteral(blobs, ({ item }) => item),
    arrayLiteral(leases, ({ change }) => change),
    arrayLiteral(leases, ({ item }) => item.holder),
    arrayLiteral(leases, ({ item }) => item.ttlMs),
  ]
}

type Numbered<T> = { readonly change: number; readonly position: number; readonly item: T }

/** The items of all changes in one list; both numbers count from 1. */
function numbered<T>(
  changes: readonly PreparedChange[],
  itemsOf: (change: PreparedChange) => readonly T[],
): Numbered<T>[] {
  const result: Numbered<T>[] = []
  for (const [index, change] of changes.entries()) {
    for (const [place, item] of itemsOf(change).entries()) result.push({ change: index + 1, position: place + 1, item })
  }
  return result
}

/** Almost every commit sets status and cached state. The other attributes are written separately, so that ordinary commits stay cheap. */
function setsSeldomAttrs({ kind, agent, owner, settings, title, parent }: StoredAttrs): boolean {
  return [kind, agent, owner, settings, title, parent].some((value) => value !== undefined)
}

/** Assigns changes that touch the same conversation or write the same call row to different waves, in their order. Counts from 1. */
export function wavesOf(batch: readonly Addressed[]): number[] {
  const lastWaves = new Map<string, number>()
  return batch.map(({ tenant, id, change }) => {
    // Ids have no control characters, so these keys are unambiguous.
    const touched = [`${tenant}\n${id}`, ...change.calls.map((call) => `${tenant}\n\n${call.id}`)]
    const wave = 1 + Math.max(...touched.map((name) => lastWaves.get(name) ?? 0))
    for (const name of touched) lastWaves.set(name, wave)
    return wave
  })
}
