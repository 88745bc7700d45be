import { expect, test } from 'vitest'
import { counters, gauges, histograms } from './names.ts'

const metrics = Object.values({ ...histograms, ...counters, ...gauges })

test('times are in seconds, and everything else is counted by a unit in braces', () => {
  for (const { name, unit } of metrics) {
    const isTime = /\.(duration|time_to_first_chunk|age|lag)$/.test(name)
    expect(`${name} ${unit}`).toMatch(isTime ? / s$/ : / \{[a-z]+\}$/)
  }
})

test('no two metrics have the same name', () => {
  expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length)
})
