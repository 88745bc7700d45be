import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { operatorHeader } from '../../src/server/guard/secret.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { firstOf } from './first-of.ts'
import { startServer } from './start-server.ts'

/** What a tool keeps for its question, as an MCP server's `requestState` may be. */
const kept = 'hunter2'

/** A server with a call whose tool asks, and keeps something until the answer. */
async function startAsking(showErrors: boolean) {
  const order = defineTool({
    name: 'order',
    description: 'Order shoes',
    input: { type: 'object' },
    run: (_, turn) => turn.ask({ prompt: 'Which size?', state: { session: kept } }),
  })
  const model = scriptedModel([{ calls: [{ tool: 'order', args: {} }] }, 'Ordered.'])
  const started = await startServer({
    agents: [defineAgent({ name: 'helper', model, tools: [order] })],
    serve: (store) => ({
      authenticate: () => createScope({ user: 'ada' }),
      upkeep: { store, isOperator: (request) => request.headers.has(operatorHeader) },
      showErrors,
    }),
  })
  const chat = started.client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('shoes')
  await chat.outcome(turnId)
  return { url: started.server.url, turnId }
}

test.each([false, true])(
  'what a tool keeps for its question is in no answer to anyone but operators (showErrors: %j)',
  async (showErrors) => {
    const { url, turnId } = await startAsking(showErrors)
    const params: Record<string, string> = { id: 'c', agent: 'helper', turnId, turnRef: `${turnId}/0`, blob: 'none' }
    const pathOf = (path: string) =>
      path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? 'none'))
    const reading = allRoutes.filter(
      ({ method, path, isForOperators }) => method === 'GET' && !isForOperators && !path.includes('/flows/'),
    )
    const read: string[] = []
    for (const { name, path } of reading) {
      const ending = new AbortController()
      const answer = await fetch(`${url}${pathOf(path)}`, { signal: ending.signal })
      const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
      const body = isStream ? await firstOf(answer) : await answer.text()
      ending.abort()
      expect([name, body.includes(kept)]).toEqual([name, false])
      if (answer.ok) read.push(name)
    }
    expect(read).toEqual(expect.arrayContaining(['viewConversation', 'readEvents', 'live', 'readSnapshot', 'uiResume']))
    for (const path of ['view', 'events']) {
      const answer = await fetch(`${url}/conversations/c/${path}`, { headers: { [operatorHeader]: 'yes' } })
      expect(await answer.text()).toContain(kept)
    }
  },
)
