import { foldEvents } from '../../src/log/fold-events.ts'
import { openTurn } from '../../src/log/state.ts'
import { pendingItems } from '../../src/view/view-of.ts'
import type { ForeignAction } from './plan.ts'
import { answer } from './scenarios/people.ts'
import type { Scenario } from './scenarios/scenario.ts'
import { SimulatedProcess } from './simulated-process.ts'
import type { Started, World } from './world.ts'

/** A client in a process that runs no turns and has no faults. */
export class Foreigner {
  readonly #world: World
  readonly #process = new SimulatedProcess('elsewhere', false)
  #started: Started | null = null
  /** Whether a scenario has become another one by it. */
  isDisturbed = false

  constructor(world: World) {
    this.#world = world
  }

  /** For the scenarios that begin with a call that was approved while no process ran. */
  async approveBeforehand(): Promise<void> {
    for (const scenario of this.#world.scenarios) {
      if (!scenario.isApprovedBeforehand) continue
      const process = new SimulatedProcess('before', false)
      const { host, runtime } = this.#world.start(process, this.#world.data)
      await within(process, async () => {
        const turn = await host.chat(scenario).send(scenario.messages[0]!, { key: scenario.messages[0]! })
        await turn.outcome()
        await runtime.close({ drainMs: 0 })
      })
      process.kill()
      await this.append('answer', scenario)
    }
  }

  /** False when there is nothing to do it to. */
  async append(action: ForeignAction, scenario: Scenario): Promise<boolean> {
    const id = this.#world.idOf(scenario)
    const state = foldEvents(await this.#world.log(scenario))
    const open = openTurn(state)
    if (state.turns.length === 0) return false
    if (action === 'answer') {
      const pending = pendingItems(id, state)
      for (const item of pending) await this.#do(async ({ host }) => void (await answer(scenario, host, item)))
      return pending.length > 0
    }
    if (action === 'note') {
      await this.#do(async ({ host }) => void (await host.chat(scenario).note('seen', 'never said to a model')))
      return true
    }
    if (!open && action !== 'queue') return false
    this.isDisturbed = true
    if (action === 'cancel') {
      const events = [{ type: 'cancel_requested' as const, content: { turnId: open!.turnId, who: 'somebody' } }]
      await this.#world.data.commit(id, { events })
      return true
    }
    const text = { steer: 'by the way', queue: 'when you are done', interrupt: 'say it again' }[action]
    await this.#do(async ({ host }) => void (await host.chat(scenario).send(text, { whenBusy: action })))
    return true
  }

  async #do(work: (started: Started) => Promise<void>): Promise<void> {
    this.#started ??= this.#world.start(this.#process, this.#world.data, { work: false })
    const started = this.#started
    await within(this.#process, () => work(started))
  }
}

function within(process: SimulatedProcess, work: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => process.enter(() => void work().then(resolve, reject)))
}
