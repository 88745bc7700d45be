import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

const quick = { leaseMs: 200, pollMs: 20 }

overStores('a process that is late to start what it has recorded as started', (story) => {
  test('does not run a tool that another has reported as unknown by then', async () => {
    const runs: string[] = []
    const { store, goAway, comeBack } = withoutRenewals(story)
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'act', args: {} }] },
    )
    const agentOf = (node: string, input: z.ZodType) =>
      defineAgent({
        name: 'worker',
        model,
        tools: [defineTool({ name: 'act', description: 'Act', input, run: () => void runs.push(node) })],
      })
    const isLate = gate()
    const isChecked = gate()
    // Arguments are checked when the message is finished, and again just before the tool runs.
    const slowInput = z.object({}).refine(async () => {
      if (!(await hasStarted(store.data))) return true
      goAway()
      isLate.open()
      await isChecked.opened
      return true
    })
    const late = story.start({ agents: [agentOf('late', slowInput)], store: store.proxy, ...quick })
    const { turnId } = await late.conversation('c1', { agent: 'worker' }).send('go')
    await isLate.opened
    const other = story.start({ agents: [agentOf('other', z.object({}))], store: story.reopen(store.data), ...quick })
    expect(await other.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    isChecked.open()
    comeBack()
    await late.close({ drainMs: 1_000 })
    const results = (await store.data.streamEvents('c1')).filter(({ type }) => type === 'tool_result')
    expect(results).toMatchObject([{ content: { ok: false, outcome: 'unknown' } }])
    expect(runs).toEqual([])
  })

  test('runs it when the lease was renewed after all', async () => {
    const runs: string[] = []
    const { store, goAway, comeBack, renewals } = withoutRenewals(story)
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'act', args: {} }] },
    )
    const input = z.object({}).refine(async () => {
      if (!(await hasStarted(store.data))) return true
      goAway()
      await new Promise((resolve) => setTimeout(resolve, 2 * quick.leaseMs))
      return true
    })
    const act = defineTool({ name: 'act', description: 'Act', input, run: () => void runs.push('late') })
    const agent = defineAgent({ name: 'worker', model, tools: [act] })
    const late = story.start({ agents: [agent], store: store.proxy, ...quick })
    const turn = await late.conversation('c1', { agent: 'worker' }).send('go')
    await until(() => renewals() > 0)
    await new Promise((resolve) => setTimeout(resolve, 3 * quick.leaseMs))
    expect(runs).toEqual([])
    comeBack()
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(runs).toEqual(['late'])
  })

  test('does not run a step of a flow that another has gone on with', async () => {
    const runs: string[] = []
    const { store, goAway, comeBack } = withoutRenewals(story)
    const isLate = gate()
    const flowOf = (node: string) =>
      defineFlow({
        name: 'steps',
        version: 1,
        run: async (flow) => {
          await flow.step('first', async () => {
            if (node !== 'late') return
            goAway()
            isLate.open()
            // The next step is recorded and begun when it is no longer known which node has the session.
            await new Promise((resolve) => setTimeout(resolve, 2 * quick.leaseMs))
          })
          await flow.step('second', { ifInterrupted: 'report' }, async () => void runs.push(node))
        },
      })
    const late = story.start({ agents: [], flows: [flowOf('late')], store: store.proxy, ...quick })
    void late.flow('steps', 's1').start(null)
    await isLate.opened
    const opened = async () => (await store.data.streamEvents('s1')).filter(({ type }) => type === 'flow_opened').length
    await until(async () => (await opened()) === 2)
    expect(runs).toEqual([])
    const other = story.start({ agents: [], flows: [flowOf('other')], store: story.reopen(store.data), ...quick })
    await until(async () => (await store.data.streamEvents('s1')).at(-1)?.type === 'flow_ended')
    comeBack()
    await late.close({ drainMs: 1_000 })
    expect(runs).toEqual([])
    expect(await other.flow('steps', 's1').status()).toBe('failed')
  })
})

async function hasStarted(store: Store): Promise<boolean> {
  return (await store.streamEvents('c1')).some(({ type }) => type === 'tool_started')
}

/** A store that from some moment on does not answer renewals until it is told to. */
function withoutRenewals(story: { openStore(): Store }) {
  const data = story.openStore()
  const isBack = gate()
  let isAway = false
  let renewals = 0
  const proxy: Store = new Proxy(data, {
    get(object, name) {
      const member: unknown = Reflect.get(object, name)
      if (name !== 'keepLeases' || typeof member !== 'function') return member
      return async (...args: unknown[]) => {
        if (isAway) renewals += 1
        if (isAway) await isBack.opened
        return member.apply(object, args)
      }
    },
  })
  return {
    store: { data, proxy },
    goAway: () => void (isAway = true),
    comeBack: isBack.open,
    renewals: () => renewals,
  }
}
