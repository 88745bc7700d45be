import { expect, test } from 'vitest'
import { z } from 'zod'
import { argsDigest } from '../../src/client/index.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { pendingOf } from './pending-of.ts'

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({ to: z.string(), cents: z.number() }),
  approval: 'required',
  run: ({ to }) => `paid ${to}`,
})
const scan = defineTool({
  name: 'scan',
  description: 'Scan a page',
  executor: 'client',
  approval: 'required',
  input: z.object({ page: z.number() }),
  output: z.string(),
})
const calling = (tool: string, args: object) =>
  scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool, args }] },
  )
const agents = [
  defineAgent({ name: 'payer', model: calling('pay', { to: 'ann', cents: 5 }), tools: [pay] }),
  defineAgent({ name: 'scanner', model: calling('scan', { page: 1 }), tools: [scan] }),
] as const
const returns = defineFlow({
  name: 'returns',
  version: 1,
  run: async (flow) => flow.suspend({ order: 'o-1' }),
})

overStores('the digest of what was shown', (story) => {
  test('an answer with the digest of the item counts; with another it is refused and the call still waits', async () => {
    const runtime = story.start({ agents })
    const chat = runtime.conversation('c', { agent: 'payer' })
    const [pending] = await pendingOf(await chat.send('pay'))
    const [item] = await runtime.inbox()
    expect(item!.digest).toBe(argsDigest({ to: 'ann', cents: 5 }))
    expect(item!.digest).toBe(argsDigest(pending!.args))
    const other = argsDigest({ to: 'eve', cents: 5 })
    const refused = { code: 'arguments_changed' }
    await expect(chat.approve(item!, { digest: other })).rejects.toMatchObject(refused)
    await expect(chat.deny(item!, { digest: other })).rejects.toMatchObject(refused)
    await expect(runtime.resolve('c', item!, true, { digest: other })).rejects.toMatchObject(refused)
    expect(await runtime.inbox()).toHaveLength(1)
    expect(await runtime.resolve('c', item!, true, { digest: item!.digest, key: 'k' })).toEqual({ accepted: true })
    expect(await runtime.resolve('c', item!, true, { digest: item!.digest, key: 'k' })).toEqual({ accepted: true })
    expect(await runtime.resolve('c', item!, false, { digest: item!.digest })).toMatchObject({ accepted: false })
  })

  test('the second round of a call has the digest of the arguments that were edited in the first', async () => {
    const runtime = story.start({ agents })
    const chat = runtime.conversation('c', { agent: 'scanner' })
    const turn = await chat.send('scan')
    const [first] = await pendingOf(turn)
    await chat.approve(first!, { args: { page: 7 }, digest: argsDigest({ page: 1 }) } as never)
    await pendingOf(turn)
    const [item] = await runtime.inbox()
    expect(item).toMatchObject({ round: 2, digest: argsDigest({ page: 7 }) })
    const stale = runtime.resolve('c', item!, { ok: true, result: 'text' }, { digest: argsDigest({ page: 1 }) })
    await expect(stale).rejects.toMatchObject({ code: 'arguments_changed' })
    expect(await runtime.resolve('c', item!, { ok: true, result: 'text' }, { digest: item!.digest })).toEqual({
      accepted: true,
    })
  })

  test('a question of a session has the digest of its tag', async () => {
    const runtime = story.start({ agents, flows: [returns] })
    await runtime.flow(returns, 's').start(null)
    const [item] = await runtime.inbox()
    expect(item!.digest).toBe(argsDigest({ order: 'o-1' }))
    const stale = runtime.resolve('s', item!, 'yes', { digest: argsDigest(null) })
    await expect(stale).rejects.toMatchObject({ code: 'arguments_changed' })
    expect(await runtime.resolve('s', item!, 'yes', { digest: item!.digest })).toEqual({ accepted: true })
  })
})
