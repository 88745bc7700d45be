import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { FlowSession } from '../../src/runtime/flow-session.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { PendingItem } from '../../src/view/view.ts'
import type { Attempt } from './try-hostile.ts'

const open: (() => Promise<void>)[] = []

/** Must be called after each test. */
export async function closeAll(): Promise<void> {
  for (const close of open.splice(0)) await close()
}

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: { type: 'object' },
  approval: 'required',
  run: () => 'paid',
})
const ask = defineTool({ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human', output: z.unknown() })
const order = defineFlow({ name: 'order', version: 1, run: async (flow, input) => [input, await flow.suspend('who?')] })
const calls = [
  { tool: 'pay', args: { cents: 1 } },
  { tool: 'ask', args: {} },
]

export function start(store: Store = memoryStore({ logger: silentLogger })) {
  const model = scriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'user' ? { calls } : 'Done.'))
  const agents = [defineAgent({ name: 'clerk', model, tools: [pay, ask], audit: 'full', state: { type: 'object' } })]
  const runtime = createRuntime({ agents, flows: [order], store, logger: silentLogger }) as unknown as Runtime
  open.push(
    () => runtime.close({ drainMs: 0 }),
    () => store.close(),
  )
  let n = 0
  /** A conversation of its own for each attempt: what succeeds changes it. */
  const chat = (): Conversation => runtime.conversation(`c${++n}`, { agent: 'clerk' })
  const waiting = async (tool = 'pay'): Promise<{ chat: Conversation; item: PendingItem }> => {
    const conversation = chat()
    const outcome = await (await conversation.send('go')).outcome()
    const item = outcome.status === 'waiting' && outcome.pending.find((pending) => pending.tool === tool)
    if (!item) throw new Error('it should wait')
    return { chat: conversation, item }
  }
  const session = (): FlowSession<unknown, unknown> => runtime.flow('order', `s${++n}`)
  const suspended = async () => {
    const started = session()
    await started.start(1)
    return started
  }
  const question = async () => (await runtime.inbox()).find((item) => item.conversationId === `s${n}`)!
  return { runtime, store, chat, waiting, session, suspended, question }
}

export type Started = ReturnType<typeof start>
export type Table<Surface> = Readonly<Record<Exclude<keyof Surface, 'id' | 'ref'>, (started: Started) => Attempt[]>>

/** Given instead of options, and as each of them. */
export function options(verb: (given: never) => unknown, ...names: string[]): Attempt[] {
  return [
    verb,
    ...names.map(
      (name): Attempt =>
        (hostile) =>
          verb({ [name]: hostile } as never),
    ),
  ]
}

/** In a conversation of its own that waits for the approval of `item`. */
export function onItem(
  waiting: Started['waiting'],
  act: (chat: Conversation, item: PendingItem, hostile: never) => unknown,
): Attempt {
  return async (hostile) => {
    const { chat, item } = await waiting()
    return act(chat, item, hostile)
  }
}

/** Of a member that takes nothing. */
export const none = () => []
