import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { LogDetails } from '../../src/base/logger.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { Persistence } from '../../src/snapshot/persistence.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { until } from './until.ts'

const ask = defineTool({ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human', output: z.string() })

function start(story: StoryContext, persistState: Persistence['persistState'], persistTimeoutMs = 20_000) {
  const warnings: { message: string; details: LogDetails | undefined }[] = []
  const logger = {
    ...silentLogger,
    warn: (message: string, details?: LogDetails) => void warnings.push({ message, details }),
  }
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? 'Thanks.' : { calls: [{ tool: 'ask', args: {} }] },
  )
  const agent = defineAgent({ name: 'helper', model, tools: [ask] })
  const persistence = { persistState, loadState: () => null }
  const runtime = story.start({ agents: [agent], persistence, persistTimeoutMs, logger })
  const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'helper' })
  return { runtime, chat, warnings }
}

overStores('a persister', (story) => {
  const unhelpful: [string, Persistence['persistState'], RegExp, timeoutMs?: number][] = [
    ['rejects', () => Promise.reject(new Error('disk full')), /disk full/],
    [
      'throws',
      () => {
        throw new Error('no such table')
      },
      /no such table/,
    ],
    ['says that it failed', () => ({ ok: false, error: new Error('told so') }), /told so/],
    ['returns an error', async () => new Error('returned'), /returned/],
    ['never comes back', () => new Promise(() => {}), /longer than 50 ms/, 50],
    ['fails after its timeout', () => sleep(70).then(() => Promise.reject(new Error('late'))), /50 ms/, 50],
  ]

  test.each(unhelpful)('that %s is logged, and nothing else changes', async (_, persistState, problem, timeoutMs) => {
    const { chat, warnings } = start(story, persistState, timeoutMs)
    const turn = await chat.send('Hi')
    await chat.answer(await onlyPendingOf(turn), 'yes')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Thanks.' })
    checkHistory(await chat.events())
    const told = warnings.filter(({ message }) => message === 'a snapshot was not persisted')
    expect(told.map(({ details }) => details)).toMatchObject([
      { agentId: 'helper', conversationId: 'c1', lifecycle: 'on_interrupt' },
      { agentId: 'helper', conversationId: 'c1', lifecycle: 'on_completion' },
    ])
    for (const { details } of told) expect(String(details?.error)).toMatch(problem)
  })

  test('that fails every time is logged for every lifecycle, and every turn ends as it would have', async () => {
    const warnings: unknown[] = []
    const logger = {
      ...silentLogger,
      warn: (message: string, details?: LogDetails) => {
        if (message === 'a snapshot was not persisted') warnings.push(details?.['lifecycle'])
      },
    }
    const model = scriptedModel(({ prompt }) => {
      const said = JSON.stringify(prompt.findLast(({ role }) => role === 'user'))
      if (said.includes('fail')) return { error: { status: 400 } }
      return said.includes('ask') ? { calls: [{ tool: 'ask', args: {} }] } : 'Hello.'
    })
    const agent = defineAgent({
      name: 'helper',
      model,
      tools: [ask],
      retry: false,
      title: { model: scriptedModel('A') },
    })
    const persistState = () => {
      throw new Error('disk full')
    }
    const runtime = story.start({ agents: [agent], persistence: { persistState, loadState: () => null }, logger })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    expect(await (await chat.send('Hi')).outcome()).toMatchObject({ status: 'completed', text: 'Hello.' })
    await until(() => warnings.length === 2)
    expect((await chat.view()).title).toBe('A')
    expect(await (await chat.send('fail')).outcome()).toMatchObject({ status: 'failed' })
    expect(await (await chat.send('ask')).outcome()).toMatchObject({ status: 'waiting' })
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    await runtime.close()
    expect(warnings).toEqual([
      'on_completion',
      'on_title_generated',
      'on_error',
      'on_interrupt',
      'on_cancel',
      'on_shutdown',
    ])
    checkHistory(await runtime.store.streamEvents('c1'))
  })

  test('that never comes back does not keep a runtime from closing', async () => {
    const { runtime, chat } = start(story, () => new Promise(() => {}), 50)
    await onlyPendingOf(await chat.send('Hi'))
    await runtime.close()
    expect(await runtime.store.getConversation('c1')).toMatchObject({ status: 'suspended' })
  })

  test('may do with the state what it likes', async () => {
    const { runtime, chat, warnings } = start(story, (_, state) => {
      const loose = state as unknown as { messages: { parts: { args?: object }[] }[] }
      for (const message of loose.messages) for (const part of message.parts) Object.assign(part.args ?? {}, { x: 1 })
      loose.messages.length = 0
    })
    const turn = await chat.send('Hi')
    await chat.answer(await onlyPendingOf(turn), 'yes')
    await turn.outcome()
    expect((await chat.view()).messages).toHaveLength(3)
    expect(JSON.stringify((await chat.view()).messages)).not.toContain('"x"')
    expect(warnings).toEqual([])
    await runtime.close()
  })

  test('that asks about the very turn it is told of is not waited for in a circle', async () => {
    const started = start(story, async () => void (await started.chat.turn(turnId).outcome()), 50)
    let turnId = ''
    const turn = await started.chat.send('Hi')
    turnId = turn.turnId
    await started.chat.answer(await onlyPendingOf(turn), 'yes')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
  })

  test('that cannot be told who acts is not called', async () => {
    const called: unknown[] = []
    const persistence: Persistence = { persistState: (scope) => void called.push(scope), loadState: () => null }
    const agent = defineAgent({ name: 'helper', model: scriptedModel('Hello.') })
    const store = story.openStore()
    const api = story.start({ agents: [agent], store, work: false })
    await api
      .as(createScope({ user: 'ann' }))
      .conversation('c1', { agent: 'helper' })
      .send('Hi')
    const restoreScope = () => {
      throw new Error('no directory')
    }
    const worker = story.start({ agents: [agent], store: story.reopen(store), persistence, restoreScope, pollMs: 20 })
    await until(async () => (await worker.conversation('c1').view()).problem)
    await worker.close()
    expect(called).toEqual([])
  })
})
