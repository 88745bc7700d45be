/** A row: one that waits, or one that is over and still says what came of it. */
export type SteadyRow<Item> = { readonly key: string; readonly item: Item; readonly isOver: boolean }

/** Rows in the order in which they are shown, and those that have come since and wait to be shown. */
export type SteadyList<Item> = {
  readonly rows: readonly SteadyRow<Item>[]
  readonly arrived: readonly SteadyRow<Item>[]
}

export const noRows: SteadyList<never> = { rows: [], arrived: [] }

export type Arriving<Item> = {
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** Rows that stay although they are over, until `isHeld` is false. */
  readonly stays: (key: string) => boolean
  /** The pointer is on the list, or rows are selected: no row may move. */
  readonly isHeld: boolean
}

/**
 * The list after the server has said what waits now. Rows never change their order. While the list is held no row comes or goes; one that is over keeps its place,
 * and new ones wait in `arrived`. Rows past the end of the list are new only below it, where they move nothing.
 */
export function steadied<Item>(before: SteadyList<Item>, now: Arriving<Item>): SteadyList<Item> {
  const { items, keyOf, stays, isHeld } = now
  const current = new Map(items.map((item) => [keyOf(item), item]))
  const known = new Set(before.rows.map(({ key }) => key))
  const kept = before.rows.flatMap((row): SteadyRow<Item>[] => {
    const item = current.get(row.key)
    if (item !== undefined) return [row.item === item && !row.isOver ? row : { key: row.key, item, isOver: false }]
    if (!isHeld && !stays(row.key)) return []
    return [row.isOver ? row : { ...row, isOver: true }]
  })
  const last = lastKnown(items, keyOf, known)
  const fresh = items.map((item, index) => ({ row: { key: keyOf(item), item, isOver: false }, index }))
  const isNew = ({ row }: { row: SteadyRow<Item> }): boolean => !known.has(row.key)
  const below = fresh.filter((entry) => isNew(entry) && entry.index > last).map(({ row }) => row)
  const above = fresh.filter((entry) => isNew(entry) && entry.index < last).map(({ row }) => row)
  if (isHeld && known.size > 0) return same(before, { rows: [...kept, ...below], arrived: above })
  return same(before, { rows: [...merged(above, kept, items.map(keyOf)), ...below], arrived: [] })
}

function lastKnown<Item>(items: readonly Item[], keyOf: (item: Item) => string, known: ReadonlySet<string>): number {
  return items.findLastIndex((item) => known.has(keyOf(item)))
}

/** New rows where the server has them: each before the first kept row that follows it there. */
function merged<Item>(fresh: readonly SteadyRow<Item>[], kept: readonly SteadyRow<Item>[], order: readonly string[]) {
  const place = new Map(order.map((key, index) => [key, index]))
  const rows: SteadyRow<Item>[] = []
  let next = 0
  for (const row of kept) {
    const at = place.get(row.key)
    while (at !== undefined && next < fresh.length && place.get(fresh[next]!.key)! < at) {
      rows.push(fresh[next]!)
      next += 1
    }
    rows.push(row)
  }
  return [...rows, ...fresh.slice(next)]
}

/** The same object where nothing has changed, so that nothing renders. */
function same<Item>(before: SteadyList<Item>, after: SteadyList<Item>): SteadyList<Item> {
  const isEqual = (one: readonly SteadyRow<Item>[], other: readonly SteadyRow<Item>[]): boolean =>
    one.length === other.length && one.every((row, index) => isSameRow(row, other[index]!))
  return isEqual(before.rows, after.rows) && isEqual(before.arrived, after.arrived) ? before : after
}

function isSameRow<Item>(one: SteadyRow<Item>, other: SteadyRow<Item>): boolean {
  return one.key === other.key && one.item === other.item && one.isOver === other.isOver
}

/** The row to show after one has been answered: the next that still waits, or else the one before it. */
export function nextWaiting<Item>(rows: readonly SteadyRow<Item>[], key: string): string | null {
  const at = rows.findIndex((row) => row.key === key)
  const after = rows.slice(at + 1).find(({ isOver }) => !isOver)
  const before = rows.slice(0, Math.max(0, at)).findLast(({ isOver }) => !isOver)
  return (after ?? before)?.key ?? null
}

/** The row so many steps away; the first where none is shown. */
export function stepFrom<Item>(rows: readonly SteadyRow<Item>[], key: string | null, steps: number): string | null {
  const at = rows.findIndex((row) => row.key === key)
  if (at < 0) return rows[0]?.key ?? null
  return rows[Math.min(rows.length - 1, Math.max(0, at + steps))]!.key
}
