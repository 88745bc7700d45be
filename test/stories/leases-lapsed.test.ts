import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { until } from './until.ts'

const quick = { leaseMs: 150, pollMs: 20 }

overStores('leases that lapse', (story) => {
  /** How many lapses a claim finds once the current lease has lapsed, too. */
  const lapsesFound = (data: ReturnType<typeof story.openStore>, id: string) =>
    until(async () => {
      const claimed = await data.claimLease(id, 'last', 60_000)
      return claimed.type === 'taken' && claimed
    })

  test('a process that was only slow takes its lapse back', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const data = story.openStore()
    const slow = mortalStore(data)
    story.start({ agents: [agent], store: slow.store, ...quick })
    const api = story.start({ agents: [agent], store: story.reopen(data), work: false })
    await api.conversation('c1', { agent: 'slow' }).send('go')
    await model.called(1)
    const thaw = slow.freeze()
    const other = mortalStore(story.reopen(data))
    story.start({ agents: [agent], store: other.store, ...quick })
    await model.called(2)
    thaw()
    await until(() => model.calls[0]!.signal?.aborted)
    await new Promise((resolve) => setTimeout(resolve, 2 * quick.leaseMs))
    other.kill()
    slow.kill()
    // The one that was killed has left its own.
    expect(await lapsesFound(data, 'c1')).toMatchObject({ lapses: 1 })
  })

  test('a process that never comes back does not', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const data = story.openStore()
    const api = story.start({ agents: [agent], store: story.reopen(data), work: false })
    await api.conversation('c1', { agent: 'slow' }).send('go')
    for (const n of [1, 2]) {
      const { store, kill } = mortalStore(story.reopen(data))
      story.start({ agents: [agent], store, ...quick })
      await model.called(n)
      kill()
    }
    expect(await lapsesFound(data, 'c1')).toMatchObject({ lapses: 2 })
  })

  test('what a process left behind is taken up one by one, and new work beside it', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const data = story.openStore()
    const { store, kill } = mortalStore(data)
    const dying = story.start({ agents: [agent], store, ...quick })
    const turns = await Promise.all(['a', 'b', 'c'].map((id) => dying.conversation(id, { agent: 'slow' }).send(id)))
    await model.called(3)
    kill()
    const next = story.start({ agents: [agent], store: story.reopen(data), ...quick })
    await model.called(4)
    const fresh = await next.conversation('fresh', { agent: 'slow' }).send('new')
    await model.called(5)
    await new Promise((resolve) => setTimeout(resolve, 3 * quick.pollMs))
    expect(model.calls).toHaveLength(5)
    for (const n of [4, 5, 6, 7]) await model.answer(n, 'Done.')
    for (const turnId of [...turns, fresh].map((turn) => turn.turnId)) {
      const id = turnId === fresh.turnId ? 'fresh' : ['a', 'b', 'c'][turns.findIndex((turn) => turn.turnId === turnId)]!
      expect(await next.conversation(id).turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    }
  })
})
