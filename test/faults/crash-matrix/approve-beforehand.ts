import type { Store } from '../../../src/store/store.ts'
import { answer } from '../../simulator/scenarios/people.ts'
import { type LifeOptions, startLife } from './life.ts'
import { matrixScenarios } from './matrix-scenarios.ts'

/** Brings some scenarios to where they wait, ends the process that did, and approves their call when no process is alive. */
export async function approveBeforehand(
  store: Store,
  options: Omit<LifeOptions, 'store' | 'scenarios' | 'work'>,
): Promise<void> {
  const scenarios = matrixScenarios.filter((scenario) => scenario.isApprovedBeforehand)
  const first = startLife({ ...options, store, scenarios })
  const outcomes = scenarios.map(async (scenario) => {
    const text = scenario.messages[0]!
    const turn = await first.host.chat(scenario).send(text, { key: text })
    return { scenario, outcome: await turn.outcome() }
  })
  const asked = await Promise.all(outcomes)
  await first.close()
  const elsewhere = startLife({ ...options, store, scenarios, work: false })
  for (const { scenario, outcome } of asked) {
    if (outcome.status !== 'waiting') throw new Error(`'${scenario.name}' does not wait but is ${outcome.status}`)
    for (const pending of outcome.pending) await answer(scenario, elsewhere.host, pending)
  }
  await elsewhere.close()
}
