import { join } from 'node:path'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { createTool } from '@mastra/core/tools'
import { Memory } from '@mastra/memory'
import { z } from 'zod'
import { aiModel } from '../ai-model.js'
import { instructions, look, pay, payment, question } from '../script.js'

const storages = {
  async sqlite({ folder }) {
    const { LibSQLStore } = await import('@mastra/libsql')
    const storage = new LibSQLStore({ id: 'bench', url: `file:${join(folder, 'mastra.db')}` })
    await storage.init()
    const { client } = storage
    // Mastra sets NORMAL, which syncs a WAL at checkpoints only.
    await client.execute('PRAGMA synchronous = FULL')
    const settings = async () => ({
      journal_mode: Object.values((await client.execute('PRAGMA journal_mode')).rows[0])[0],
      synchronous: Object.values((await client.execute('PRAGMA synchronous')).rows[0])[0],
    })
    return { storage, settings, close: () => storage.close() }
  },
  async postgres({ url }) {
    const { PostgresStore } = await import('@mastra/pg')
    const storage = new PostgresStore({ id: 'bench', connectionString: url })
    await storage.init()
    return { storage, close: () => storage.close() }
  },
}

export async function open(kind, place) {
  const { storage, settings, close } = await storages[kind](place)
  const tools = {
    look: createTool({
      id: 'look',
      description: 'Look it up',
      inputSchema: z.object({ q: z.string() }),
      execute: async () => look(),
    }),
    pay: createTool({
      id: 'pay',
      description: 'Pay',
      inputSchema: z.object({ cents: z.number() }),
      requireApproval: true,
      execute: () => pay(place.folder),
    }),
  }
  // The newest 10 messages are read for a turn: Mastra's default.
  const memory = new Memory({ storage })
  const bench = new Agent({ id: 'bench', name: 'bench', instructions, model: aiModel, tools, memory })
  const mastra = new Mastra({ agents: { bench }, storage, logger: false })
  const agent = mastra.getAgent('bench')
  const memoryOf = (id) => ({ memory: { thread: id, resource: 'bench' } })
  return {
    settings,
    async turn(id) {
      const { text, finishReason } = await agent.generate(question, memoryOf(id))
      if (!text) throw new Error(`a turn ended ${finishReason}`)
    },
    async ask(id) {
      const { runId, finishReason, suspendPayload } = await agent.generate(payment, memoryOf(id))
      if (finishReason !== 'suspended') throw new Error(`a turn ended ${finishReason}`)
      return { runId, toolCallId: suspendPayload?.toolCallId }
    },
    async answer(_id, token) {
      const { text, finishReason } = await agent.approveToolCallGenerate(token)
      if (!text) throw new Error(`a turn ended ${finishReason}`)
    },
    close,
  }
}
