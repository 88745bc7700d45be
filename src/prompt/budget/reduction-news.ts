import type { Reduction } from '../render/reduction.ts'

/** What one reduction leaves out that the one before did not, in words. */
export function whatReduced(before: Reduction, after: Reduction): string {
  const news: string[] = []
  const stubs = [...after.stubbed.keys()].filter((callId) => !before.stubbed.has(callId)).length
  if (stubs > 0) news.push(`${stubs} old results became stubs`)
  if (after.summary && after.summary.toSeq !== before.summary?.toSeq)
    news.push(`version ${after.summary.version} of the summary is shown`)
  if (after.windowFrom > before.windowFrom) news.push(`turns before ${after.windowFrom} were left out`)
  return `a reduction: ${news.join('; ')}`
}
