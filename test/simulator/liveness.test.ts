import { expect, test, vi } from 'vitest'
import type { Plan } from './plan.ts'
import { expectMissed, problemsOf } from './problems-of.ts'
import { scenarios } from './scenarios/all-scenarios.ts'
import { patient, poison } from './scenarios/special-scenarios.ts'
import { simulate } from './simulate.ts'

vi.setConfig({ testTimeout: 120_000 })

/** That work goes on: leases that no process knows of, and conversations that end their processes. Each rule that is switched off must be missed. */

const named = (...names: string[]): Plan['scenarios'] => scenarios.filter(({ name }) => names.includes(name))

test('a lease whose acknowledgement was lost does not stand in the way, also while its process works on something else', async () => {
  const beside = { scenarios: [patient, ...named('plain', 'approved', 'expiry')] }
  const { leases } = await simulate(beside)
  expect(leases).toBeGreaterThan(3)
  const plans = Array.from({ length: leases }, (_, index) => ({ ...beside, lostLeases: [index + 1] }))
  await expectMissed('a process renews only the leases it knows', plans, /never came to rest/)
})

test('leases whose acknowledgements are lost again and again do not stand in the way', async () => {
  const plans = [1, 2, 3].map((first) => ({
    scenarios: [patient, ...named('plain', 'tools-one-by-one')],
    lostLeases: [first, first + 1, first + 2, first + 4],
    workers: 2,
  }))
  expect(await problemsOf(plans)).toBe('')
})

test('a conversation that ends its processes is quarantined, and none of those beside it', async () => {
  const beside = { scenarios: [poison, ...named('plain', 'parallel-tools', 'tools-one-by-one', 'approved')] }
  for (const workers of [1, 2, 3]) expect(await problemsOf([{ ...beside, workers }])).toBe('')
})

test('a process that holds several conversations with lapses has innocent ones quarantined', async () => {
  const plan = { scenarios: [poison, patient, ...named('tools-one-by-one')], workers: 2 }
  await expectMissed(
    'a process holds one conversation with lapses at a time',
    [plan],
    /is quarantined, and has ended no process/,
  )
})

test('lapses that are not counted let a conversation end processes for ever', async () => {
  const plan = { scenarios: [poison, ...named('plain')] }
  await expectMissed('lapses are counted', [plan], /never came to rest|goes round in circles/)
})
