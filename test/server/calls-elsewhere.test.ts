import { describe, expect, test } from 'vitest'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { startServer } from './start-server.ts'

/** A body that would answer the call, or move its deadline, for every route that names one. */
const bodies: Readonly<Record<string, object>> = {
  approveCall: {},
  denyCall: { reason: 'No.' },
  answerCall: { value: 'x' },
  resolveCall: { value: true },
  extendDeadline: { expiresInMs: null },
}
const routes = allRoutes.filter(({ path }) => path.includes(':callId'))

test('every route that names a call has a body here', () => {
  expect(Object.keys(bodies).toSorted()).toEqual(routes.map(({ name }) => name).toSorted())
})

describe('a call of another conversation is answered byte for byte as one that does not exist', () => {
  test.each(routes.map((route) => [route.name, route] as const))('%s', async (name, { path }) => {
    const model = scriptedModel(({ prompt }) =>
      prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'refund', args: { cents: 1 } }] },
    )
    const { client, server } = await startServer({ model })
    for (const id of ['mine', 'other']) {
      const chat = client.conversation(id, { agent: 'helper' })
      await chat.outcome((await chat.send('Go')).turnId)
    }
    const [call] = (await client.conversation('mine').view()).pending
    const unknown = call!.callId.replaceAll(/[0-9a-f]/g, 'f')
    const told = async (callId: string): Promise<string> => {
      const filled = path.replace(':id', 'other').replace(':callId', callId)
      const answer = await fetch(server.url + filled, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(bodies[name]),
      })
      return `${answer.status} ${await answer.text()}`.replaceAll(callId, 'CALL')
    }
    const missing = await told(unknown)
    expect(missing).toMatch(/^404 .*"call_not_found"/)
    expect(await told(call!.callId)).toBe(missing)
    await client.conversation('mine').deny(call!, { reason: 'it is a secret' })
    expect(await told(call!.callId)).toBe(missing)
  })
})
