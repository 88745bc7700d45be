import { expect } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { LanguageModel } from '../../src/define/language-model.ts'
import type { Tool } from '../../src/define/tool.ts'
import { type Step, scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, refund } from '../support/asking-tools.ts'
import { startServer } from './start-server.ts'
import { essence, type Sdk } from './ui-assemble.ts'
import { type Message, messagesOf } from './ui-chat.ts'

const locate = defineTool({
  name: 'locate',
  description: 'Where the person is',
  executor: 'client',
  input: z.object({ exact: z.boolean() }),
  output: z.object({ city: z.string() }),
})

export async function start({
  model,
  tools = [refund, locate, ask],
}: {
  model: LanguageModel
  tools?: readonly Tool[]
}) {
  const started = await startServer({ agents: [defineAgent({ name: 'helper', model, tools, retry: false })] })
  return { ...started, api: `${started.server.url}/ui/helper`, log: started.runtime.conversation('c') }
}

export const noMessage: Message = { id: '', role: 'assistant', parts: [] }

/** Calls first, then words. */
export function callsThen(calls: { tool: string; args: unknown }[], text = 'Done.') {
  return scriptedModel(({ n }): Step => (n === 1 ? { calls } : text))
}

/** What a page shows is what the log says. */
export async function expectTruth(api: string, shown: Message, id = 'c'): Promise<void> {
  const truth = (await messagesOf(api, id)).at(-1)!
  expect(essence(shown as never)).toEqual(essence(truth as never))
}

export const clients: [Sdk, string][] = [
  ['v6', ''],
  ['v7', ''],
  ['v7', '?chunks=v7'],
]
