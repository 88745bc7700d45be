import { type AgentSubscriber, type BaseEvent, HttpAgent } from '@ag-ui/client'
import type { Interrupt, Message } from '@ag-ui/core'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { LanguageModel } from '../../src/define/language-model.ts'
import type { Tool } from '../../src/define/tool.ts'
import { ask, refund } from '../support/asking-tools.ts'
import { startServer } from './start-server.ts'

const locate = defineTool({
  name: 'locate',
  description: 'Where the person is',
  executor: 'client',
  input: z.object({ exact: z.boolean() }),
  output: z.object({ city: z.string() }),
})

const guardedLocate = defineTool({
  name: 'guarded',
  description: 'Where the person is, with an approval',
  executor: 'client',
  approval: 'required',
  input: z.object({}),
  output: z.object({ city: z.string() }),
})

export const look = defineTool({
  name: 'look',
  description: 'Look it up',
  input: z.object({ what: z.string() }),
  run: ({ what }) => ({ found: what }),
})

export async function start(model: LanguageModel, tools: readonly Tool[] = [refund, ask, locate, guardedLocate, look]) {
  const agents = [defineAgent({ name: 'helper', model, tools, retry: false })]
  const started = await startServer({ agents })
  return { ...started, log: started.runtime.conversation('c'), url: `${started.server.url}/ag-ui/helper` }
}

type Ran = { readonly events: readonly (BaseEvent & Record<string, unknown>)[]; readonly error: Error | null }

/** The real client, which checks every event of a run. */
export function clientOf(url: string, messages: Message[] = [], threadId = 'c') {
  const agent = new HttpAgent({ url, threadId, initialMessages: messages })
  let n = 0
  return {
    agent,
    say(content: string, id = `m${++n}`) {
      agent.addMessage({ id, role: 'user', content })
    },
    async run(parameters: Parameters<HttpAgent['runAgent']>[0] = {}, subscriber: AgentSubscriber = {}): Promise<Ran> {
      const events: Ran['events'][number][] = []
      const error = await agent
        .runAgent(parameters, { ...subscriber, onEvent: ({ event }) => void events.push(event as never) })
        .then(
          () => null,
          (thrown: Error) => thrown,
        )
      return { events, error }
    },
  }
}

export const typesOf = ({ events }: Ran) => events.map(({ type }) => type as string)
export const lastOf = ({ events }: Ran) => events.at(-1)!
export const outcomeOf = (ran: Ran) => lastOf(ran)['outcome'] as { type: string; interrupts: Interrupt[] }
export const contentsOf = (messages: readonly Message[]) => messages.map(({ role, content }) => [role, content])
export const calling = (tool: string, args: object) => ({ calls: [{ tool, args }] })
