import { useState } from 'react'

export type HeldRows<Row> = {
  readonly rows: readonly Row[]
  readonly isOver: ReadonlySet<string>
  readonly arrived: number
}

type Identified = { readonly id: string }

/**
 * Rows that do not move while they are held: what is new waits, and what is gone keeps its place until they are let go. New rows below the last one move
 * nothing, and are shown at once.
 */
export function heldRows<Row extends Identified>(
  before: readonly Row[],
  now: readonly Row[],
  isHeld: boolean,
): HeldRows<Row> {
  if (!isHeld || before.length === 0) return { rows: now, isOver: none, arrived: 0 }
  const current = new Map(now.map((row) => [row.id, row]))
  const known = new Set(before.map(({ id }) => id))
  const over = new Set(before.flatMap(({ id }) => (current.has(id) ? [] : [id])))
  const last = now.findLastIndex(({ id }) => known.has(id))
  const fresh = now.filter(({ id }) => !known.has(id))
  const below = now.slice(last + 1)
  const rows = [...before.map((row) => current.get(row.id) ?? row), ...(last < 0 ? [] : below)]
  return { rows, isOver: over, arrived: fresh.length - (last < 0 ? 0 : below.length) }
}

const none: ReadonlySet<string> = new Set()

/** The same from one rendering to the next. `scope`: with another one, nothing of before is held. */
export function useHeldRows<Row extends Identified>(
  now: readonly Row[],
  isHeld: boolean,
  scope: string,
): HeldRows<Row> {
  const [shown, setShown] = useState<{ scope: string; now: readonly Row[]; isHeld: boolean; held: HeldRows<Row> }>({
    scope,
    now,
    isHeld,
    held: { rows: now, isOver: none, arrived: 0 },
  })
  if (shown.now === now && shown.isHeld === isHeld && shown.scope === scope) return shown.held
  const held = heldRows(shown.scope === scope ? shown.held.rows : [], now, isHeld)
  setShown({ scope, now, isHeld, held })
  return held
}
