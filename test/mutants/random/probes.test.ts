import { stripTypeScriptTypes } from 'node:module'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { probed, probeOf } from './probes.ts'

const code = `
class Counter {
  step = 1 + 1
  next(from: number, by = this.step) {
    if (from < 0) return 'below'
    else if (from > 100) throw new Error('above')
    switch (by) {
      case 0:
        return 'none'
      default:
        return [from].map((n) => ({ n: n + by }))
    }
  }
}
result = new Counter().next(input)
`

/** Runs the code with probes; returns what it gives and the parts that ran. */
function run(input: number): { result: unknown; ran: string[] } {
  const { text, probes } = probed('a.ts', code, 100)
  const hits = new Set<number>()
  const context = { input, result: undefined, perdureProbe: (number: number) => hits.add(number) }
  runInNewContext(stripTypeScriptTypes(text), context)
  const ran = probes.filter(({ number }) => hits.has(number)).map(({ start, end }) => code.slice(start, end))
  return { result: context.result, ran: ran.map((part) => part.split('\n')[0]!.trim()) }
}

test('code with probes does what it did, and tells which of its parts ran', () => {
  const { result, ran } = run(5)
  expect(JSON.stringify(result)).toBe('[{"n":7}]')
  expect(ran).toContain('1 + 1')
  expect(ran).toContain('this.step')
  expect(ran).toContain('return [from].map((n) => ({ n: n + by }))')
  expect(ran).not.toContain("return 'below'")
  expect(ran).not.toContain("return 'none'")
  expect(run(-1)).toMatchObject({ result: 'below', ran: expect.arrayContaining(["return 'below'"]) })
})

test('a place is told of by the smallest part around it', () => {
  const { probes } = probed('a.ts', code, 100)
  const at = (text: string) => {
    const start = code.indexOf(text)
    const probe = probeOf(probes, { start, end: start + text.length })
    return probe && code.slice(probe.start, probe.end)
  }
  expect(at("'below'")).toBe("return 'below'")
  expect(at('n + by')).toBe('({ n: n + by })')
  expect(at('1 + 1')).toBe('1 + 1')
  expect(at('new Counter()')).toBeUndefined()
})
