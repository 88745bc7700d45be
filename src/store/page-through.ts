/** All rows of a list that is read page by page. `fetch` gets the last row of the page before; a short page is the last. */
export async function* pageThrough<Row>(
  limit: number,
  fetch: (last: Row | null) => Row[] | Promise<Row[]>,
): AsyncGenerator<Row> {
  let last: Row | null = null
  for (;;) {
    const page: Row[] = await fetch(last)
    yield* page
    if (page.length < limit) return
    last = page.at(-1)!
  }
}
