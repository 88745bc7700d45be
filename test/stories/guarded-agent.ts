import { expect } from 'vitest'
import { z } from 'zod'
import type { Hook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { EventOf, LogEvent } from '../../src/log/events.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import type { StoryContext } from './over-stores.ts'
import { recordedStore } from './recorded-store.ts'
import { snapshotBook } from './snapshot-book.ts'

export const secret = 'It is Xanadu.'
export const never = () => new Promise<never>(() => {})

/** An agent whose model says the secret and wants to act on it, and then, when it is asked again, something harmless. */
export function startGuarded(story: StoryContext, hooks: readonly Hook[], attributes: object = {}) {
  const runs: string[] = []
  const act = defineTool({ name: 'act', description: 'Act', input: z.object({}), run: () => void runs.push('act') })
  const model = scriptedModel(({ n }) =>
    n === 1 ? { text: ['It is Xan', 'adu.'], calls: [{ tool: 'act', args: {} }] } : 'Nothing to see.',
  )
  const agent = defineAgent({ name: 'a', model, hooks, tools: [act], hookTimeoutMs: 30, retry: false, ...attributes })
  const { store, commits } = recordedStore(story.openStore())
  const { persistence, taken } = snapshotBook(store)
  const chat = story.start({ agents: [agent], store, persistence }).conversation('c1', { agent: 'a' })
  return { model, commits, taken, runs, store, chat: chat as Conversation }
}

type Started = Pick<ReturnType<typeof startGuarded>, 'chat' | 'taken' | 'runs'>

/** The log has the message and its usage; every other reader sees only that there was one. */
export async function expectWithheld({ chat, taken, runs }: Started, hook: string): Promise<void> {
  const events = await chat.events()
  checkHistory(events)
  const mark = events.find((event) => event.type === 'withheld')
  const message = onlyMessage(events)
  expect(mark?.content).toEqual({ messageId: message.content.messageId, hook })
  expect(message.seq).toBe(mark!.seq + 1)
  expect(message.at).toBe(mark!.at)
  expect(message.content.parts.map((part) => part.type)).not.toContain('call')
  expect(JSON.stringify(message)).toContain('Xan')
  expect(message.content).not.toHaveProperty('object')
  expect(events.some((event) => event.type === 'tool_call')).toBe(false)
  expect(runs).toEqual([])
  const view = await chat.view()
  expect(view.messages).toMatchObject([{ role: 'user' }, { role: 'assistant', parts: [], withheld: { hook } }])
  expect((await chat.history()).messages).toEqual(view.messages)
  expect(taken.at(-1)?.state.messages).toMatchObject([{ role: 'user' }, { role: 'assistant', parts: [] }])
  expectNothingTold([view, await chat.history(), taken.map(({ state }) => state), await chat.outcome()])
}

export function onlyMessage(events: readonly LogEvent[]): EventOf<'assistant_msg'> {
  const [message, ...more] = events.filter((event) => event.type === 'assistant_msg')
  expect(more).toEqual([])
  return message!
}

export function expectNothingTold(told: unknown): void {
  expect(JSON.stringify(told)).not.toMatch(/Xan/)
}

export function thrown(error: Error): never {
  throw error
}
