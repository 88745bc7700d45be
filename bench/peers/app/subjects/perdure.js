import { join } from 'node:path'
import { createRuntime, defineAgent, defineTool, memoryStore } from 'perdure'
import { z } from 'zod'
import { aiModel } from '../ai-model.js'
import { look, pay, payment, question } from '../script.js'

const stores = {
  memory: async () => memoryStore(),
  sqlite: async ({ folder }) => (await import('perdure/sqlite')).sqliteStore({ path: join(folder, 'perdure.db') }),
  postgres: async ({ url }) => (await import('perdure/postgres')).postgresStore({ connectionString: url }),
}

export async function open(kind, place) {
  const store = await stores[kind](place)
  const tools = [
    defineTool({ name: 'look', description: 'Look it up', input: z.object({ q: z.string() }), run: look }),
    defineTool({
      name: 'pay',
      description: 'Pay',
      input: z.object({ cents: z.number() }),
      approval: 'required',
      run: () => pay(place.folder),
    }),
  ]
  const agent = defineAgent({ name: 'bench', model: aiModel, tools, context: { summarise: false } })
  const runtime = createRuntime({ agents: [agent], store })
  const conversation = (id) => runtime.conversation(id, { agent: 'bench' })
  const until = async (outcome, status) => {
    if ((await outcome).status !== status) throw new Error(`a turn ended ${JSON.stringify(await outcome)}`)
    return await outcome
  }
  return {
    turn: async (id) => until((await conversation(id).send(question)).outcome(), 'completed'),
    async ask(id) {
      const turn = await conversation(id).send(payment)
      const { pending } = await until(turn.outcome(), 'waiting')
      return { turnId: turn.turnId, call: pending[0] }
    },
    async answer(id, { turnId, call }) {
      await conversation(id).approve(call)
      await until(conversation(id).turn(turnId).outcome(), 'completed')
    },
    async close() {
      await runtime.close()
      await store.close()
    },
  }
}
