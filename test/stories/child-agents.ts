import { z } from 'zod'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Tool } from '../../src/define/tool.ts'
import { childIdOf } from '../../src/log/child-call.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { type ScriptedModelCall, type ScriptedToolCall, scriptedModel } from '../../src/testing/scripted-model.ts'

/** The conversations of the agents that a conversation has called, in the order of the calls. */
export async function childIdsOf(chat: Pick<Conversation, 'events'>): Promise<string[]> {
  const events = await chat.events()
  return events.flatMap((event) =>
    event.type === 'tool_call' && event.content.executor === 'agent' ? [childIdOf(event.content.callId)] : [],
  )
}

/** A tool that hands its one text to another agent. */
export function childTool(name: string, agent: Agent, options: { approval?: 'required'; description?: string } = {}) {
  return defineTool({
    name,
    description: 'Ask another agent',
    input: z.object({ task: z.string() }),
    executor: 'agent',
    agent,
    ...options,
  })
}

/** An agent that makes these calls at once, and says `Done.` when it has their results. */
export function bossOf(
  tools: readonly Tool[],
  calls: readonly ScriptedToolCall[],
  attributes: Partial<Parameters<typeof defineAgent>[0]> = {},
) {
  const model = scriptedModel(({ prompt }: ScriptedModelCall) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls },
  )
  const boss = defineAgent({ name: 'boss', ...attributes, model, tools }) as Agent<'boss'>
  return { boss, model }
}
