import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { Observation } from '../../src/engine/observer.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'
import { prometheus } from '../../src/telemetry/prometheus.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { executedByTurns } from '../house/executed-files.ts'

test('a turn that is not observed calls no function of observers and telemetry', async () => {
  const { inProcess, overHttp } = await executedByTurns(process.cwd())
  expect(inProcess.length).toBeGreaterThan(20)
  const observing = [...inProcess, ...overHttp].filter((path) => /telemetry|observe[rd]/.test(path))
  expect(observing).toEqual([])
})

test('an observer makes a turn ask the store for nothing, and telemetry reads its log once, after the end', async () => {
  const seen: Observation[] = []
  const counts = prometheus()
  const [alone, observed, counted] = [
    await callsOfTurn(undefined),
    await callsOfTurn({ observe: (observation) => void seen.push(observation) }),
    await callsOfTurn(counts, () => counts.flush()),
  ]
  expect(observed).toEqual(alone)
  expect(seen.map(({ type }) => type)).toEqual(['turn_begun', 'model_attempted', 'committed', 'rested'])
  expect(counted.toSorted()).toEqual([...alone, 'streamEvents', 'modelCalls'].toSorted())
})

type Observe = Parameters<typeof createRuntime>[0]['observe']

/** The methods of the store that one turn calls. */
async function callsOfTurn(observe: Observe, after: () => Promise<void> = async () => {}): Promise<string[]> {
  const calls: string[] = []
  const agent = defineAgent({ name: 'helper', model: scriptedModel(['hi']) })
  const store = countingStore(memoryStore(), calls)
  const settings = { agents: [agent], store, logger: silentLogger, pollMs: 3_600_000 }
  const runtime = createRuntime({ ...settings, ...(observe ? { observe } : {}) })
  await (await runtime.conversation('c1', { agent: 'helper' }).send('hello')).outcome()
  await runtime.close()
  await after()
  return calls.filter((name) =>
    /^(commit|streamEvents|pageEvents|loadSince|modelCalls|getConversation|standing)$/.test(name),
  )
}

function countingStore<T extends Store | TenantStore>(target: T, calls: string[]): T {
  return new Proxy(target, {
    get(object, name) {
      const member: unknown = Reflect.get(object, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        const result: unknown = member.apply(object, args)
        if (name === 'forTenant') return countingStore(result as TenantStore, calls)
        calls.push(String(name))
        return result
      }
    },
  })
}
