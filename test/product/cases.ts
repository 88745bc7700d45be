import { setTimeout as sleep } from 'node:timers/promises'

/** One thing that the app must do. */
export type Case<Context> = { readonly name: string; run(context: Context): Promise<void> }

const caseMs = 240_000
const totals = { passed: 0, failed: 0 }

/** Runs cases one after another, and prints a line for each. */
export async function runCases<Context>(cases: readonly Case<Context>[], context: Context): Promise<void> {
  for (const { name, run } of cases) {
    const startedAt = performance.now()
    const failure = await withinTime(run(context)).then(
      () => null,
      (error: unknown) => error,
    )
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    totals[failure ? 'failed' : 'passed'] += 1
    console.log(`${failure ? 'not ok' : 'ok    '}  ${name} (${seconds} s)`)
    if (failure) console.log(String(failure instanceof Error ? failure.stack : failure).replaceAll(/^/gm, '        '))
  }
}

export function summary(): { readonly passed: number; readonly failed: number } {
  return totals
}

export function assertEqual(actual: unknown, expected: unknown, what: string): void {
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (got !== wanted) throw new Error(`${what}: expected ${wanted}, got ${got}`)
}

/** Looks until it is so. The time is for a busy machine. */
export async function until(what: string, look: () => boolean | Promise<boolean>, patienceMs = 120_000): Promise<void> {
  for (const giveUpAt = Date.now() + patienceMs; !(await look()); await sleep(50)) {
    if (Date.now() > giveUpAt) throw new Error(`not so within ${patienceMs} ms: ${what}`)
  }
}

async function withinTime(work: Promise<void>): Promise<void> {
  const timeout = new AbortController()
  const tooLate = sleep(caseMs, undefined, { signal: timeout.signal }).then(() => {
    throw new Error(`not done within ${caseMs} ms`)
  })
  try {
    await Promise.race([work, tooLate])
  } finally {
    timeout.abort()
    tooLate.catch(() => {})
  }
}
