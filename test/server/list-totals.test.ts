import { expect, test } from 'vitest'
import { defineFlow } from '../../src/define/define-flow.ts'
import type { Authorize } from '../../src/runtime/authorize/authorize.ts'
import { startServer } from './start-server.ts'

const asks = defineFlow({ name: 'asks', version: 1, run: (flow) => flow.suspend('name?') })

test('the first page of a list tells how many there are, where more follow and the store has counted them', async () => {
  const { client } = await startServer({ flows: [asks] })
  for (const id of ['c1', 'c2', 'c3']) {
    const { turnId } = await client.conversation(id, { agent: 'helper' }).send('hello')
    await client.conversation(id).outcome(turnId)
  }
  for (const id of ['s1', 's2', 's3', 's4']) await client.flow('asks', id).start()
  await expect.poll(async () => (await client.totals())?.inbox.waiting).toBe(4)
  const kind = 'conversation' as const

  const first = await client.conversations({ kind, limit: 2 })
  expect(first.total).toBe(3)
  expect(await client.conversations({ kind, limit: 2, status: 'idle' })).toMatchObject({ total: 3 })
  expect(await client.sessions({ limit: 2 })).toMatchObject({ total: 4 })
  expect(await client.sessions({ limit: 2, status: 'waiting', owner: 'local' })).toMatchObject({ total: 4 })
  expect(await client.inbox({ limit: 2 })).toMatchObject({ total: 4 })

  const uncounted = [
    client.conversations({ kind, limit: 2, before: first.before! }),
    client.conversations({ kind, limit: 2, text: 'c' }),
    client.conversations({ kind, limit: 2, agent: 'helper' }),
    client.conversations({ limit: 2 }),
    client.conversations({ kind, limit: 3, status: 'idle', forkOf: 'c1' }),
    client.sessions({ limit: 2, flow: 'asks' }),
    client.sessions(),
    client.inbox(),
  ]
  for (const page of await Promise.all(uncounted)) expect(page).not.toHaveProperty('total')
})

test('where each row is judged, a page has no total', async () => {
  const authorize: Authorize = ({ conversation }) => conversation === null || conversation.id !== 's1'
  const { client } = await startServer({ flows: [asks], runtime: () => ({ authorize }) })
  for (const id of ['s1', 's2', 's3']) await client.flow('asks', id).start()
  const page = await client.sessions({ limit: 1 })
  expect(page.before).not.toBeNull()
  expect(page).not.toHaveProperty('total')
})
