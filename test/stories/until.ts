/** For a busy machine: what comes sooner is not waited for any longer. */
const patienceMs = 25_000

/** Looks again and again until there is something to see. Only for what nothing tells of. */
export async function until<T>(look: () => T | Promise<T>): Promise<Exclude<NonNullable<T>, false>> {
  for (const giveUpAt = Date.now() + patienceMs; ; ) {
    const seen = await look()
    if (seen) return seen as Exclude<NonNullable<T>, false>
    if (Date.now() > giveUpAt) throw new Error(`not so within ${patienceMs} ms: ${look.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Waits until the clock shows another millisecond, for what is listed by its time: things of one moment have no order of their own. */
export async function nextMillisecond(): Promise<void> {
  for (const now = Date.now(); Date.now() === now; ) await new Promise((resolve) => setTimeout(resolve, 1))
}
