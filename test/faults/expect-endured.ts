import { expect } from 'vitest'
import type { Verdict } from './harness/verdict.ts'

/** The verdict must be clean, and the fault must have been there. Returns why parts were skipped, for the test to say so. */
export function expectEndured({ violations, notExercised, skipped }: Verdict): string | null {
  expect(violations).toEqual([])
  expect(notExercised).toEqual([])
  return skipped.length > 0 ? skipped.join('; ') : null
}
