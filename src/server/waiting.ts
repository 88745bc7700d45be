/** What comes of it in time; null when it does not. It goes on in any case. */
export async function inTime<T>(work: Promise<T>, waitMs: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), waitMs)
  })
  // Nobody waits for it once the time is up.
  work.catch(() => {})
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
