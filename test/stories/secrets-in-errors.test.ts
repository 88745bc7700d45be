import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { UserFacingError } from '../../src/base/errors/perdure-error.ts'
import type { Logger } from '../../src/base/logger.ts'
import { postHook, preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { childIdOf } from '../../src/log/child-call.ts'
import { storeSnapshots } from '../../src/snapshot/persistence.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { everyProperty } from '../support/unruly-model.ts'
import { overStores } from './over-stores.ts'

const password = 'hunter2hunter2'
const address = `postgres://app:${password}@db.internal/app`
const value = 'a value that only the environment has'

beforeEach(() => {
  process.env['STORY_API_KEY'] = value
})

afterEach(() => {
  delete process.env['STORY_API_KEY']
})

/** Fails with both secrets, in words that a model can use. */
function failing(name: string, thrown: () => unknown = () => new Error(`cannot reach ${address} with ${value}`)) {
  return defineTool({
    name,
    description: 'Fails',
    input: z.object({}),
    run: () => {
      throw thrown()
    },
  })
}

function listening(): { logger: Logger; lines: unknown[] } {
  const lines: unknown[] = []
  const take = (...line: unknown[]) => void lines.push(line)
  return { lines, logger: { debug: take, info: take, warn: take, error: take } }
}

overStores('the secrets in what failed', (story) => {
  test('are in neither the log, nor the prompt, nor what is live, kept or logged', async () => {
    const { lines, logger } = listening()
    const childModel = scriptedModel({ error: { status: 500, message: `no route to ${address}` } })
    const child = defineAgent({ name: 'child', model: childModel, retry: false, audit: 'full' })
    const model = scriptedModel([
      {
        calls: [
          { tool: 'query', args: {} },
          { tool: 'child', args: { message: 'go' } },
        ],
      },
      'Sorry.',
      { error: { status: 400, message: `key ${value} and ${address}` } },
      'Withheld.',
    ])
    const late = postHook('late', ({ assistantMessage }) => {
      if (assistantMessage?.text === 'Withheld.') throw new Error(`the judge at ${address} is away`)
    })
    const input = z.object({ message: z.string() })
    const helper = defineTool({ name: 'child', description: 'Helps', executor: 'agent', agent: child, input })
    const tools = [failing('query'), helper]
    const parent = defineAgent({ name: 'parent', model, tools, hooks: [late], retry: false, audit: 'full' })
    const store = story.openStore()
    const persistence = storeSnapshots(store)
    const runtime = story.start({ agents: [parent, child], store, logger, persistence })
    const chat = runtime.conversation('c1', { agent: 'parent' })
    const watched: unknown[] = []
    const stop = new AbortController()
    const watching = (async () => {
      for await (const event of chat.watch({ signal: stop.signal })) watched.push(event)
    })()
    const outcomes: unknown[] = []
    for (const text of ['Ask', 'Again', 'And again']) outcomes.push(await (await chat.send(text)).outcome())
    expect(outcomes).toMatchObject([{ status: 'completed' }, { status: 'failed' }, { status: 'failed' }])
    stop.abort()
    await watching
    await runtime.close()
    const tenant = store.forTenant('default')
    const events = await tenant.streamEvents('c1')
    const childCall = events.find(
      ({ type, content }) => type === 'tool_call' && 'executor' in content && content.executor === 'agent',
    )
    const childId = childIdOf((childCall!.content as { callId: string }).callId)
    const kept = [
      events,
      await tenant.streamEvents(childId),
      await tenant.modelCalls('c1'),
      await tenant.modelCalls(childId),
      await tenant.getSnapshot('c1'),
      await tenant.listConversations(),
    ]
    const everything = everyProperty([kept, watched, outcomes, lines, model.calls])
    expect(everything).not.toContain(password)
    expect(everything).not.toContain(value)
    expect(everyProperty(model.calls)).toContain('cannot reach postgres://[redacted]@db.internal/app with [redacted]')
    expect(everyProperty(events)).toContain('the judge at postgres://[redacted]@db.internal/app is away')
    expect(lines).not.toEqual([])
  })

  test('are in no end of a turn, whichever hook threw them', async () => {
    const thrown = (): never => {
      throw new Error(`the memory at ${address} is away`)
    }
    for (const hook of [preHook('memory', thrown), postHook('memory', thrown)]) {
      const agent = defineAgent({ name: 'a', model: scriptedModel('Hello.'), hooks: [hook] })
      const runtime = story.start({ agents: [agent] })
      const outcome = await (await runtime.conversation('c1', { agent: 'a' }).send('Hi')).outcome()
      expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringContaining('postgres://[redacted]@db') })
      expect(everyProperty(await runtime.conversation('c1').events())).not.toContain(password)
    }
  })

  test('are in no answer of a page whose tool failed', async () => {
    const input = z.object({})
    const locate = defineTool({ name: 'locate', description: 'Where', executor: 'client', input, output: z.unknown() })
    const model = scriptedModel([{ calls: [{ tool: 'locate', args: {} }] }, 'Sorry.'])
    const runtime = story.start({ agents: [defineAgent({ name: 'a', model, tools: [locate] })] })
    const chat = runtime.conversation('c1', { agent: 'a' })
    const turn = await chat.send('Where am I?')
    const outcome = await turn.outcome()
    if (outcome.status !== 'waiting') throw new Error('the turn should wait')
    await chat.answer(outcome.pending[0]!, { ok: false, error: `refused: authorization: Bearer ${password}` })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const everything = everyProperty([await chat.events(), model.calls])
    expect(everything).toContain('refused: authorization:[redacted]')
    expect(everything).not.toContain(password)
  })

  test('are in no record of a session, whether a step throws them or the flow', async () => {
    const seen: string[] = []
    const flow = defineFlow({
      name: 'f',
      version: 1,
      run: async (verbs) => {
        await verbs
          .step('query', () => {
            throw new Error(`cannot reach ${address}`)
          })
          .catch((error: Error) => seen.push(error.message))
        throw new Error(`gave up on ${address} and ${value}`)
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const standing = await runtime.flow(flow, 's1').start(null)
    expect(standing).toEqual({
      status: 'failed',
      error: 'gave up on postgres://[redacted]@db.internal/app and [redacted]',
    })
    expect(seen).toEqual(['cannot reach postgres://[redacted]@db.internal/app'])
    expect(everyProperty(await runtime.flow(flow, 's1').events())).not.toContain(password)
  })

  test('are what the application says, too; and where its redact fails, the call still ends', async () => {
    const redacts = [
      (text: string) => text.replaceAll('account 4711', 'account ...'),
      () => {
        throw new Error('account 4711')
      },
      async () => 'account 4711',
    ] as unknown as ((text: string) => string)[]
    const texts: string[] = []
    for (const redact of redacts) {
      const model = scriptedModel([{ calls: [{ tool: 'query', args: {} }] }, 'Sorry.'])
      const agent = defineAgent({ name: 'a', model, tools: [failing('query', () => new Error('no account 4711'))] })
      const runtime = story.start({ agents: [agent], redact })
      const chat = runtime.conversation('c1', { agent: 'a' })
      expect(await (await chat.send('Go')).outcome()).toMatchObject({ status: 'completed', text: 'Sorry.' })
      const log = everyProperty(await chat.events())
      expect(log).not.toContain('4711')
      texts.push(/"error":\s?"([^"]*)"/.exec(JSON.stringify(await chat.events()))![1]!)
    }
    const withheld = "[redacted: the application's redact failed]"
    expect(texts).toEqual(['no account ...', withheld, withheld])
  })

  test('are taken out of an error that is meant for people, which is marked in the log', async () => {
    const model = scriptedModel([{ calls: [{ tool: 'query', args: {} }] }, 'Sorry.'])
    const thrown = () => new UserFacingError(`Order 42 is shipped (${address})`)
    const agent = defineAgent({ name: 'a', model, tools: [failing('query', thrown)] })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'a' })
    await (await chat.send('Go')).outcome()
    const result = (await chat.events()).find(({ type }) => type === 'tool_result')
    const error = 'Order 42 is shipped (postgres://[redacted]@db.internal/app)'
    expect(result?.content).toMatchObject({ ok: false, error, userFacing: true })
  })
})
