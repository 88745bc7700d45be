/** What a fault program found. Anything but `ok` ends its process with code 1, or 77 when nothing is wrong but a part could not be run. */
export type Verdict = {
  readonly program: string
  readonly store: string
  readonly seed: number
  readonly ok: boolean
  /** What broke a promise. */
  readonly violations: readonly string[]
  /** Faults that were not brought about: the run proves nothing about them. */
  readonly notExercised: readonly string[]
  /** Parts that cannot be run on this machine, with the reason. */
  readonly skipped: readonly string[]
  readonly counts: Counts
  readonly seconds: number
}

export type Counts = { readonly [name: string]: number | string | Counts }

/** What one part of a program found. */
export type Finding = {
  readonly violations: readonly string[]
  readonly notExercised?: readonly string[]
  readonly skipped?: readonly string[]
  readonly counts: Counts
}

const shownViolations = 20

export async function judge(
  run: { readonly program: string; readonly store: string; readonly seed: number },
  parts: readonly { readonly name: string; readonly find: () => Promise<Finding> }[],
): Promise<Verdict> {
  const begun = performance.now()
  const violations: string[] = []
  const notExercised: string[] = []
  const skipped: string[] = []
  const counts: Record<string, Counts> = {}
  for (const { name, find } of parts) {
    const finding = await find().catch(broken)
    const named = (text: string): string => `${name}: ${text}`
    violations.push(...finding.violations.map(named))
    notExercised.push(...(finding.notExercised ?? []).map(named))
    skipped.push(...(finding.skipped ?? []).map(named))
    counts[name] = finding.counts
  }
  const left = violations.length - shownViolations
  const shown = left > 0 ? [...violations.slice(0, shownViolations), `and ${left} more`] : violations
  return {
    ...run,
    ok: violations.length === 0 && notExercised.length === 0,
    violations: shown,
    notExercised,
    skipped,
    counts,
    seconds: Math.round((performance.now() - begun) / 100) / 10,
  }
}

/** A program that cannot go on has found something, too. */
function broken(error: unknown): Finding {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { violations: [`it could not go on: ${what}`], counts: {} }
}

/** 77 is what test runners know as "skipped". */
export function exitCode({ ok, skipped }: Verdict): number {
  if (!ok) return 1
  return skipped.length > 0 ? 77 : 0
}
