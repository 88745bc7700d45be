import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { halt, postHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import { operatorHeader } from '../../src/server/guard/secret.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { WatchEvent } from '../../src/view/growing-view.ts'
import { until } from '../stories/until.ts'
import { firstOf } from './first-of.ts'
import { connect } from './sse-connection.ts'
import { startServer } from './start-server.ts'
import type { Sdk } from './ui-assemble.ts'
import { createChat, lastMessage, messagesOf, textOf } from './ui-chat.ts'

const isEnd = ({ type }: WatchEvent) => type === 'turn_halted'
const authenticate = (): Scope => createScope({ user: 'ada' }) as Scope
const isOperator = (request: Request): boolean => request.headers.get('x-operator') === 'yes'

type Starting = { readonly show?: boolean; readonly reveal?: 'live' | 'judged'; readonly quotes?: boolean }

/** A server with a conversation whose one answer, a text and a file, was halted by a hook, or quoted by it in what it threw. */
async function startHalted({ show = false, reveal = 'live', quotes = false }: Starting = {}) {
  // Lets the hook wait until what it judges is shown.
  const judge: { when: Promise<void> } = { when: Promise.resolve() }
  const strict = postHook('strict', async (turn) => {
    await judge.when
    if (quotes) throw new Error(`no: ${turn.assistantMessage?.text}`)
    return halt('no', { show })
  })
  const started = await startServer({
    agents: [defineAgent({ name: 'helper', model: modelWithFile(), hooks: [strict], audit: 'full', reveal })],
    serve: (store) => ({ authenticate, upkeep: { store, isOperator } }),
  })
  const chat = started.client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Where?')
  await chat.outcome(turnId)
  return { ...started, chat, turnId, judge, url: started.server.url }
}

/** Says one thing that a scripted model cannot: a file. */
function modelWithFile(): LanguageModelV4 {
  const model = scriptedModel({ text: ['It is Xan', 'adu.'], reasoning: 'Xanadu it is', usage: { outputTokens: 7 } })
  const data = { type: 'data' as const, data: new TextEncoder().encode('Xanadu') }
  return {
    ...model,
    doStream: async (options) => {
      const { stream } = await model.doStream(options)
      const added = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
        transform(part, controller) {
          if (part.type === 'finish') controller.enqueue({ type: 'file', mediaType: 'text/plain', data })
          controller.enqueue(part)
        },
      })
      return { stream: stream.pipeThrough(added) }
    },
  }
}

test.each([
  ['halted', false],
  ['quoted in what it threw', true],
])('an answer that a hook %s is in no answer of the server to anybody but operators', async (_, quotes) => {
  const { url, turnId, runtime } = await startHalted({ quotes })
  const log = await runtime.conversation('c').events()
  const blob = /"blob":"([0-9a-f]{64})"/.exec(JSON.stringify(log))?.[1]
  expect(blob).toBeDefined()
  const params: Record<string, string> = { id: 'c', agent: 'helper', turnId, turnRef: `${turnId}/0`, blob: blob! }
  const reading = allRoutes.filter(
    ({ method, path, isForOperators }) => method === 'GET' && !isForOperators && path.includes(':id'),
  )
  const names: string[] = []
  for (const { name, path } of reading) {
    const filled = path.replaceAll(/:(\w+)/g, (_, param: string) => encodeURIComponent(params[param] ?? 'none'))
    const ending = new AbortController()
    const answer = await fetch(`${url}${filled}`, { signal: ending.signal })
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
    const body = isStream ? await firstOf(answer) : await answer.text()
    ending.abort()
    expect([name, /Xan/.exec(body)?.[0]]).toEqual([name, undefined])
    if (answer.ok) names.push(name)
  }
  expect(names).toEqual(expect.arrayContaining(['viewConversation', 'readHistory', 'readEvents', 'live', 'uiMessages']))
  expect((await fetch(`${url}/conversations/c/files/${blob}`)).status).toBe(404)
  for (const path of ['/store/export', '/conversations/c/events']) {
    const operators = await fetch(`${url}${path}`, { headers: { 'x-operator': 'yes', [operatorHeader]: 'yes' } })
    expect(await operators.text()).toContain('It is Xanadu.')
  }
})

test('what a hook lets be shown is shown, with its file', async () => {
  const { chat, url, turnId } = await startHalted({ show: true })
  expect(await chat.outcome(turnId)).toMatchObject({ status: 'halted', text: 'It is Xanadu.' })
  const blob = /"blob":"([0-9a-f]{64})"/.exec(JSON.stringify(await chat.events()))?.[1]
  expect(await (await fetch(`${url}/conversations/c/files/${blob}`)).text()).toBe('Xanadu')
})

test('pages of events begin and end anywhere, and none tells what was withheld', async () => {
  const { chat } = await startHalted()
  const whole = await chat.events()
  expect(whole.map(({ type }) => type)).toEqual(['user_msg', 'withheld', 'assistant_msg', 'turn_ended'])
  expect(whole[2]).toMatchObject({ content: { parts: [], usage: { outputTokens: 7 } } })
  expect(JSON.stringify(whole)).not.toContain('Xan')
  for (let after = 0; after < whole.length; after++) {
    for (let limit = 1; after + limit <= whole.length; limit++) {
      expect(await chat.events({ after, limit })).toEqual(whole.slice(after, after + limit))
      expect(await chat.events({ before: after + limit + 1, limit })).toEqual(whole.slice(after, after + limit))
    }
  }
})

test('a live stream withdraws what it showed, and a client that reconnects anywhere never sees it', async () => {
  const { chat, url } = await startHalted()
  const live = `${url}/conversations/c/live`
  const page = await connect(live)
  await page.next()
  await chat.send('And now?')
  const seen = await page.until(isEnd)
  page.cut()
  const types = seen.map(({ event }) => event.type)
  expect(types).toContain('message_discarded')
  expect(types).not.toContain('message_completed')
  const settled = seen.filter(({ event }) => !event.type.endsWith('_delta'))
  expect(JSON.stringify(settled)).not.toContain('Xan')
  const last = (await chat.events()).length
  for (let after = 0; after < last; after++) {
    const again = await connect(`${live}?after=${after}`)
    const rest = await again.until((event) => 'content' in event && event.seq === last)
    again.cut()
    expect(rest).toHaveLength(last - after)
    expect(JSON.stringify(rest)).not.toContain('Xan')
  }
})

test('an agent that reveals only what is judged streams nothing of it', async () => {
  const { chat, url } = await startHalted({ reveal: 'judged' })
  const page = await connect(`${url}/conversations/c/live`)
  await page.next()
  await chat.send('And now?')
  const seen = await page.until(isEnd)
  page.cut()
  expect(JSON.stringify(seen)).not.toContain('Xan')
})

describe.each(['v6', 'v7'] as Sdk[])('a chat of ai %s', (sdk) => {
  test('is told that what it showed was withdrawn, and has an empty message after it has caught up', async () => {
    const { url, judge } = await startHalted()
    const api = `${url}/ui/helper`
    const chat = createChat(sdk, { api, messages: await messagesOf(api) })
    expect(lastMessage(chat)).toMatchObject({ role: 'assistant', metadata: { status: 'halted' } })
    expect(new Set(lastMessage(chat).parts.map(({ type }) => type))).toEqual(new Set(['step-start']))
    judge.when = until(() => textOf(lastMessage(chat)) === 'It is Xanadu.').then(() => {})
    await chat.sendMessage({ text: 'And now?' })
    expect(chat.status).toBe('error')
    expect(chat.error?.message).toBe(
      'A part of this message was withdrawn. Resume the stream to see the current message.',
    )
    await until(async () => (await messagesOf(api)).at(-1)?.metadata?.status === 'halted')
    chat.messages = await messagesOf(api)
    expect(chat.messages.map(textOf)).toEqual(['Where?', '', 'And now?', ''])
  })

  test('is never sent what is judged before it is shown', async () => {
    const { url } = await startHalted({ reveal: 'judged' })
    const api = `${url}/ui/helper`
    const sent: string[] = []
    const recorded: typeof fetch = async (...args) => {
      const answer = await fetch(...args)
      sent.push(await answer.clone().text())
      return answer
    }
    const chat = createChat(sdk, { api, fetch: recorded })
    await chat.sendMessage({ text: 'And now?' })
    expect(chat.status).toBe('ready')
    expect(lastMessage(chat).metadata).toMatchObject({ status: 'halted', reason: 'no' })
    expect(sent.join()).toContain('"halted"')
    expect(sent.join()).not.toContain('Xan')
  })
})

test('who asked for chunks of version 7 sees the message emptied in the same stream', async () => {
  const { url, judge } = await startHalted()
  const chat = createChat('v7', { api: `${url}/ui/helper?chunks=v7` })
  judge.when = until(() => chat.messages.length === 2 && textOf(lastMessage(chat)) === 'It is Xanadu.').then(() => {})
  await chat.sendMessage({ text: 'And now?' })
  expect(chat.status).toBe('ready')
  expect(lastMessage(chat).metadata).toMatchObject({ status: 'halted' })
  expect(JSON.stringify(lastMessage(chat))).not.toContain('Xan')
})
