import { expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import { defineAgent } from '../../define/define-agent.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import { type LimitSettings, TurnLimits, turnLimits } from './turn-limits.ts'

const model = scriptedModel([])
const plain = defineAgent({ name: 'plain', model })
const narrow = defineAgent({ name: 'narrow', model, limits: { turns: 2 } })
const desk = defineAgent({ name: 'desk', model, account: 'openai' })
const clerk = defineAgent({ name: 'clerk', model, account: 'openai' })
const odd = defineAgent({ name: 'odd', model, account: 'toString' })
const agents = [plain, narrow, desk, clerk, odd]

function limitsFor(settings: LimitSettings) {
  const clock = fakeClock()
  const errors: string[] = []
  const logger = { ...silentLogger, error: (message: string) => void errors.push(message) }
  return { clock, errors, limits: new TurnLimits(settings, agents, { clock, logger }) }
}

test('nothing is counted where neither the node nor an agent has a limit', () => {
  const parts = { clock: fakeClock(), logger: silentLogger }
  expect(turnLimits({}, [plain], parts)).toBeNull()
  expect(turnLimits({}, [plain, narrow], parts)).not.toBeNull()
  expect(turnLimits({}, [plain, desk], parts)).not.toBeNull()
  expect(turnLimits({ turnsPerTenant: 1 }, [plain], parts)).not.toBeNull()
})

test('a claim has the limits of its tenant, its agent and its account; a session has none', () => {
  const { limits } = limitsFor({
    turnsPerTenant: (tenant) => (tenant === 'acme' ? 3 : 5),
    accounts: { openai: { turns: 7 } },
  })
  expect(limits.forClaim('acme', 'plain')).toEqual({ tenant: 3 })
  expect(limits.forClaim('other', 'narrow')).toEqual({ tenant: 5, agent: 2 })
  expect(limits.forClaim('acme', 'desk')).toEqual({ tenant: 3, account: { name: 'openai', turns: 7 } })
  // A name that every object has is no entry of `accounts`.
  expect(limits.forClaim('acme', 'odd')).toEqual({ tenant: 3, account: { name: 'toString' } })
  expect(limits.forClaim('acme', 'flow:f')).toEqual({})
  expect(limitsFor({}).limits.forClaim('acme', 'narrow')).toEqual({ agent: 2 })
  expect([limits.isLimited('plain'), limits.isLimited('flow:f')]).toEqual([true, false])
})

test('a function that gives no limit of a tenant leaves it one turn, and is told of', () => {
  const given: Record<string, unknown> = { none: 0, half: 1.5, text: '3', all: Number.POSITIVE_INFINITY, one: 1 }
  const { limits, errors } = limitsFor({
    turnsPerTenant: (tenant) => {
      if (tenant === 'broken') throw new Error('no table')
      return given[tenant] as number
    },
  })
  const of = (tenant: string) => limits.forClaim(tenant, 'plain').tenant
  expect([of('none'), of('half'), of('text'), of('broken')]).toEqual([1, 1, 1, 1])
  const wrong = "'turnsPerTenant' must return a whole number of at least 1; the tenant gets 1"
  expect(errors).toEqual([wrong, wrong, wrong, "'turnsPerTenant' threw; the tenant gets 1"])
  expect([of('one'), of('all')]).toEqual([1, Number.MAX_SAFE_INTEGER])
  expect(errors).toHaveLength(4)
})

test('a limit that was reached puts others first where it counts, for a second', async () => {
  const { limits, clock } = limitsFor({ turnsPerTenant: 1, accounts: { openai: { turns: 1 } } })
  const first = () => [
    limits.areOthersFirst('acme', 'desk'),
    limits.areOthersFirst('other', 'clerk'),
    limits.areOthersFirst('acme', 'narrow'),
    limits.areOthersFirst('other', 'narrow'),
  ]
  expect(first()).toEqual([false, false, false, false])
  limits.wasReached('account', 'acme', 'desk')
  expect(first()).toEqual([true, true, false, false])
  await clock.advance(999)
  expect(first()).toEqual([true, true, false, false])
  await clock.advance(1)
  expect(first()).toEqual([false, false, false, false])
  limits.wasReached('tenant', 'acme', 'desk')
  expect(first()).toEqual([true, false, true, false])
  expect(limits.areOthersFirst('acme', 'flow:f')).toBe(false)
  await clock.advance(1_000)
  limits.wasReached('agent', 'other', 'narrow')
  expect(first()).toEqual([false, false, true, true])
})
