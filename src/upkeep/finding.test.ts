import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type FindingCode, finding, findingCodes } from './finding.ts'

const place = { tenant: 'default', conversation: 'ticket-42' }

test('every finding is in docs/upkeep.md, in its order, with what kind it is', () => {
  const page = readFileSync('docs/upkeep.md', 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` \| (derived|notice|fault) \| .+ \|$/gm)].map(([, code, kind]) => [
    code,
    kind,
  ])
  const codes = Object.keys(findingCodes) as FindingCode[]
  expect(rows).toEqual(codes.map((code) => [code, kindOf(code)]))
})

test('every finding says what to do, as a sentence', () => {
  for (const code of Object.keys(findingCodes) as FindingCode[]) {
    expect(finding(code, place, 'it is broken')).toMatchObject({
      code,
      ...place,
      problem: 'it is broken',
      advice: expect.stringMatching(/^[A-Z][^.]+\.$/),
    })
  }
})

function kindOf(code: FindingCode): string {
  const { isDerived, severity } = finding(code, place, '')
  if (isDerived) return 'derived'
  return severity
}
