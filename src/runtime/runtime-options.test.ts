import { expect, test } from 'vitest'
import { defineAgent } from '../define/define-agent.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import { runtimeProblems } from './runtime-options.ts'

const agents = [defineAgent({ name: 'support', model: scriptedModel([]) })]
const store = memoryStore()

test('what a runtime needs and may have is no problem', () => {
  expect(runtimeProblems({ agents, store })).toEqual([])
  const given = {
    flows: [],
    persistence: {},
    persistTimeoutMs: 1,
    logger: {},
    clock: {},
    work: false,
    maxConcurrentTurns: 1,
    secret: ['a-secret-of-more-than-thirty-two-bytes'],
  }
  const functions = { tenant: () => 'a', who: () => 'b', restoreScope: () => null, redact: (text: string) => text }
  expect(runtimeProblems({ agents: [], store, ...given, ...functions, leaseMs: 1, pollMs: 1, auditTtlMs: 1 })).toEqual(
    [],
  )
})

test('everything that is wrong is told, in the order of what a runtime has', () => {
  const wrong = { tennant: 1, agents: {}, store: {}, tenant: 1, who: 2, restoreScope: 3, redact: 4, secret: 'short' }
  expect(runtimeProblems(wrong).map((problem) => problem.split(' (known')[0])).toEqual([
    "unknown key 'tennant'",
    "'agents' must be a list of what defineAgent returns",
    "'store' must be a store, as in memoryStore() or sqliteStore({ path })",
    "'tenant' must be a function",
    "'who' must be a function",
    "'restoreScope' must be a function",
    "'redact' must be a function",
    expect.stringMatching(/^'secret' must be a random text of at least 32 bytes/),
  ])
  expect(runtimeProblems({ agents: [...agents, {}], store })).toEqual([
    "'agents' has something that defineAgent did not return",
  ])
  expect(runtimeProblems(null)).toHaveLength(3)
})

test("demands 'restoreScope' with functions that name tenant or user", () => {
  const [tenant, who] = [() => 'a', () => 'b']
  const problemOf = (given: object) => runtimeProblems({ agents: [], store, ...given }).join()
  expect(problemOf({ tenant })).toContain("'restoreScope' is missing: with 'tenant',")
  expect(problemOf({ who })).toContain("'restoreScope' is missing: with 'who',")
  expect(problemOf({ tenant, who })).toContain("'restoreScope' is missing: with 'tenant' and 'who',")
  expect(problemOf({})).toBe('')
})
