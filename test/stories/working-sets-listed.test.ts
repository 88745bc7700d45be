import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Change } from '../../src/store/change.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { flakyStore } from './flaky-store.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

overStores('what lists show of a turn', (story) => {
  test('is what the log says, also after a commit whose outcome was unknown', async () => {
    const store = story.openStore()
    const paid = gate()
    const seen: unknown[] = []
    const look = async (): Promise<void> => void seen.push((await store.getConversation('c1'))?.fsmState)
    const input = z.object({})
    const wait = defineTool({ name: 'wait', description: 'Wait', input, run: () => paid.opened })
    const run = async (): Promise<void> => {
      await look()
      paid.open()
    }
    const pay = defineTool({ name: 'pay', description: 'Pay', input, approval: 'required', run })
    const calls = [wait, pay].map(({ name }) => ({ tool: name, args: {} }))
    const model = scriptedModel(['Hello.', { calls }, 'Done.'])
    // The commit that records the wait.
    const only = (_: string, { events }: Change): boolean => events.some(({ type }) => type === 'suspension')
    const { store: flaky, failures } = flakyStore(store, { method: 'commit', times: 1, isWritten: true, only })
    const agent = defineAgent({ name: 'payer', model, tools: [wait, pay] })
    const chat = story.start({ agents: [agent], store: flaky }).conversation('c1', { agent: 'payer' })
    await (await chat.send('hello')).outcome()
    const turn = await chat.send('pay')
    const [pending] = await until(
      async () => (await store.pendingToolCalls('c1')).length > 0 && chat.view().then(({ pending }) => pending),
    )
    await look()
    await chat.approve(pending!)
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(failures()).toBe(1)
    expect(seen).toMatchObject([
      { state: 'running', pending: [pending!.callId] },
      { state: 'running', pending: [] },
    ])
  })
})
