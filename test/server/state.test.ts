import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import type { Turn } from '../../src/define/turn.ts'
import { askUser } from '../../src/extensions/index.ts'
import { operatorHeader } from '../../src/server/guard/secret.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { firstOf } from './first-of.ts'
import { startServer } from './start-server.ts'

const state = z.object({ todos: z.array(z.string()).default([]), secret: z.string().default('') })
const question = { question: 'Which?', kind: 'single', options: [{ value: 'red' }, { value: 'blue' }] }

/** A server with a conversation whose tool sets two keys, of which one is exposed, and whose model then asks a question. */
async function start() {
  const set = defineTool({
    name: 'set',
    description: 'Set',
    input: z.object({}),
    run: (_, turn: Turn<z.infer<typeof state>>) => turn.setState({ todos: ['tea'], secret: 'Xanadu' }),
  })
  const model = scriptedModel([
    { calls: [{ tool: 'set', args: {} }] },
    { calls: [{ tool: 'ask_user', args: question }] },
    'Done.',
  ])
  const agent = defineAgent({ name: 'helper', model, tools: [set], state, expose: ['todos'], extensions: [askUser()] })
  const started = await startServer({
    agents: [agent],
    serve: (store) => ({
      authenticate: (): Scope => createScope({ user: 'ada' }) as Scope,
      upkeep: { store, isOperator: (request) => request.headers.get('x-operator') === 'yes' },
    }),
  })
  const chat = started.client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('go')
  await chat.outcome(turnId)
  return { ...started, chat, turnId, url: started.server.url }
}

test('no answer of the server has a key that is not exposed, except for operators', async () => {
  const { url, turnId, runtime } = await start()
  expect(await runtime.conversation('c').state()).toEqual({ todos: ['tea'], secret: 'Xanadu' })
  const params: Record<string, string> = { id: 'c', agent: 'helper', turnId, turnRef: `${turnId}/0` }
  const reading = allRoutes.filter(
    ({ method, path, isForOperators }) => method === 'GET' && !isForOperators && path.includes(':id'),
  )
  const shown: string[] = []
  for (const { name, path } of reading) {
    const filled = path.replaceAll(/:(\w+)/g, (_, param: string) => encodeURIComponent(params[param] ?? 'none'))
    const ending = new AbortController()
    const answer = await fetch(`${url}${filled}`, { signal: ending.signal })
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
    const body = isStream ? await firstOf(answer) : await answer.text()
    ending.abort()
    expect([name, /Xanadu|"secret"/.exec(body)?.[0]]).toEqual([name, undefined])
    if (body.includes('"tea"')) shown.push(name)
  }
  expect(shown).toEqual(expect.arrayContaining(['viewConversation', 'readEvents', 'live']))
  for (const path of ['/store/export', '/conversations/c/events']) {
    const operators = await fetch(`${url}${path}`, { headers: { 'x-operator': 'yes', [operatorHeader]: 'yes' } })
    expect(await operators.text()).toContain('Xanadu')
  }
})

test('a client sees the exposed keys in its view, and no route writes state', async () => {
  const { chat } = await start()
  expect((await chat.view()).state).toEqual({ todos: ['tea'] })
  expect(allRoutes.filter(({ method, path }) => method !== 'GET' && path.includes('state'))).toEqual([])
})

test('a question is answered over HTTP by the schema that was recorded with it', async () => {
  const { chat, turnId, client } = await start()
  const outcome = await chat.outcome(turnId)
  if (outcome.status !== 'waiting') throw new Error('it should wait')
  const [item] = outcome.pending
  expect(item).toMatchObject({
    tool: 'ask_user',
    prompt: question,
    schema: { properties: { choice: { enum: ['red', 'blue'] } } },
  })
  expect((await client.inbox()).items.map(({ tool }) => tool)).toEqual(['ask_user'])
  await expect(chat.answer(item!, { choice: 'green' })).rejects.toMatchObject({ code: 'invalid_answer' })
  await chat.answer(item!, { choice: 'red' })
  expect(await chat.outcome(turnId)).toMatchObject({ status: 'completed', text: 'Done.' })
})
