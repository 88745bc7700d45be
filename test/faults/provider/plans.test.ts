import { expect, test } from 'vitest'
import { requestFaults, streamFaults } from './fake-provider.ts'
import { drawn, plansOf } from './plans.ts'
import type { ProtocolName } from './protocols.ts'

const places = ['before', 'opening', 'reasoning', 'text', 'call', 'closing', 'after']

test.each<ProtocolName>(['openai', 'anthropic'])(
  'the short form has each fault at each place of an answer (%s)',
  (protocol) => {
    for (const seed of [5, 6, 7]) {
      const plans = drawn(plansOf(protocol), { seed, rounds: 52 })
      const met = new Set(plans.map(({ plan, place }) => `${plan.fault} ${place}`))
      const inStreams = streamFaults.flatMap((fault) => places.map((place) => `${fault} ${place}`))
      const instead = requestFaults.flatMap((fault) => [0, 1].map((step) => `${fault} step ${step}`))
      expect([...inStreams, ...instead].filter((name) => !met.has(name))).toEqual([])
      expect(plans.length).toBeLessThan(60)
    }
  },
)

test.each<ProtocolName>(['openai', 'anthropic'])(
  'the short form meets each fault with and without a fallback model (%s)',
  (protocol) => {
    const plans = drawn(plansOf(protocol), { seed: 5, rounds: 52 })
    for (const fault of [...streamFaults, ...requestFaults]) {
      const ofFault = plans.filter(({ plan }) => plan.fault === fault)
      expect(new Set(ofFault.map(({ plan }) => plan.hasFallback))).toEqual(new Set([true, false]))
    }
    for (const fault of streamFaults) {
      const times = plans.filter(({ plan }) => plan.fault === fault && !plan.hasFallback).map(({ plan }) => plan.times)
      expect(new Set(times)).toEqual(new Set([1, 2, 3]))
    }
  },
)

test('one seed draws the same cases again, and more rounds add to them', () => {
  const plans = plansOf('openai')
  const short = drawn(plans, { seed: 3, rounds: 1 })
  expect(drawn(plans, { seed: 3, rounds: 1 })).toEqual(short)
  expect(drawn(plans, { seed: 3, rounds: short.length + 5 }).slice(0, short.length)).toEqual(short)
  expect(drawn(plans, { seed: 4, rounds: 1 })).not.toEqual(short)
  expect(drawn(plans, { seed: 3 })).toEqual(plans)
})
