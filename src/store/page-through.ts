import { setImmediate as nextMacrotask } from 'node:timers/promises'

/** A backend that answers at once would keep everybody else of the process waiting until the last page. */
const longestMs = 10
let othersAt = 0
/** The turn of the loop that was given away last. */
let given: Promise<void> = Promise.resolve()

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

/**
 * Lets the rest of the process have its turn, where this has gone on for a while. Of those that call it only one goes on with each turn of the loop: many at once that go
 * on together would keep everybody else waiting for all of them.
 */
export async function letOthers(): Promise<void> {
  if (performance.now() - othersAt < longestMs) return
  given = given.then(() => nextMacrotask())
  await given
  othersAt = performance.now()
}
