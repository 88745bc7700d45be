/** Without persistence: the messages are kept in an array. */
import { generateText, isStepCount, tool } from 'ai'
import { z } from 'zod'
import { aiModel } from '../ai-model.js'
import { look, question } from '../script.js'

export async function open() {
  const tools = { look: tool({ description: 'Look it up', inputSchema: z.object({ q: z.string() }), execute: look }) }
  const conversations = new Map()
  return {
    async turn(id) {
      const messages = conversations.get(id) ?? []
      conversations.set(id, messages)
      messages.push({ role: 'user', content: question })
      const { response, text } = await generateText({ model: aiModel, tools, messages, stopWhen: isStepCount(5) })
      if (!text) throw new Error('a turn had no answer')
      messages.push(...response.messages)
    },
    async close() {},
  }
}
