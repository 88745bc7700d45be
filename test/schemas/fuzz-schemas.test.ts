import { expect, test } from 'vitest'
import { fuzzSchemas } from './fuzz-schemas.ts'

test('pairs of schema and value, hostile ones among them, are judged as the plain validator judges, or refused, in little time and memory', {
  timeout: 300_000,
}, async () => {
  const report = await fuzzSchemas({ pairs: 3_000, seed: 20, maxCpuMs: 2_000 })
  expect(report.failures).toEqual([])
  expect(report.compared).toBeGreaterThan(2_000)
  expect(report.hostile).toBeGreaterThan(200)
  expect(report.tooComplex).toBeGreaterThan(100)
})
