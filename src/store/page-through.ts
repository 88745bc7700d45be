import { setImmediate as nextMacrotask } from 'node:timers/promises'

/** A backend that answers at once would keep everybody else of the process waiting until the last page. */
const longestMs = 10
let othersAt = 0

/** All rows of a list that is read page by page. `fetch` gets the last row of the page before; a short page is the last. */
export async function* pageThrough<Row>(
  limit: number,
  fetch: (last: Row | null) => Row[] | Promise<Row[]>,
): AsyncGenerator<Row> {
  let last: Row | null = null
  for (;;) {
    await letOthers()
    const page: Row[] = await fetch(last)
    yield* page
    if (page.length < limit) return
    last = page.at(-1)!
  }
}

/** Lets the rest of the process have its turn, where this has gone on for a while. */
export async function letOthers(): Promise<void> {
  if (performance.now() - othersAt < longestMs) return
  await nextMacrotask()
  othersAt = performance.now()
}
