import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { recordedStore } from './recorded-store.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** More than any cache of working sets keeps. */
const many = 260

overStores('conversations without an owner', (story) => {
  function asker() {
    const ask = defineTool({
      name: 'ask',
      description: 'Ask',
      input: z.object({}),
      executor: 'human',
      output: z.string(),
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool' ? 'Thanks.' : { calls: [{ tool: 'ask', args: {} }] },
    )
    return defineAgent({ name: 'asker', model, tools: [ask] })
  }

  test('are evicted, whether idle or waiting: going on with one reads its log anew, and loses nothing', async () => {
    const { store, counts } = recordedStore(story.openStore())
    const runtime = story.start({ agents: [asker()], store })
    const first = runtime.conversation('first', { agent: 'asker' })
    const turn = await first.send('go')
    const call = await onlyPendingOf(turn)
    const others = Array.from({ length: many }, (_, n) => runtime.conversation(`c${n}`, { agent: 'asker' }))
    for (let n = 0; n < many; n += 20) {
      await Promise.all(others.slice(n, n + 20).map(async (chat) => onlyPendingOf(await chat.send('go'))))
    }
    const loads = counts['pageSince'] ?? 0
    await runtime.conversation(`c${many - 1}`).view()
    expect(counts['pageSince'] ?? 0).toBe(loads)
    expect(await first.answer(call, 'blue')).toEqual({ accepted: true })
    expect(counts['pageSince'] ?? 0).toBeGreaterThan(loads)
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Thanks.' })
  })

  test('leave nothing of what they said behind', async () => {
    const runtime = story.start({ agents: [asker()] })
    /** Keeps only a weak hold on what its readers were given. */
    async function park(id: string): Promise<WeakRef<object>> {
      const chat = runtime.conversation(id, { agent: 'asker' })
      await onlyPendingOf(await chat.send('go'))
      return new WeakRef((await chat.view()).log)
    }
    const logs: WeakRef<object>[] = []
    for (let n = 0; n < many; n += 20) {
      logs.push(...(await Promise.all(Array.from({ length: 20 }, (_, k) => park(`c${n + k}`)))))
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
    collectGarbage()
    expect(logs.filter((log) => log.deref() !== undefined).length).toBeLessThanOrEqual(200)
  })
})
