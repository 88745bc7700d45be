/**
 * A graph of two nodes, which are plain functions: nothing of LangChain's models and agents is measured. `durability: 'sync'` writes each checkpoint before the
 * next step begins, as every other subject does; the default writes it meanwhile.
 */
import { join } from 'node:path'
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import {
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  MessagesDeltaValue,
  START,
  StateGraph,
  StateSchema,
} from '@langchain/langgraph'
import { answer, callAfter, look, pay, payment, question } from '../script.js'

const savers = {
  async sqlite({ folder }) {
    const { SqliteSaver } = await import('@langchain/langgraph-checkpoint-sqlite')
    const saver = SqliteSaver.fromConnString(join(folder, 'langgraph.db'))
    saver.setup()
    // better-sqlite3 compiles SQLite so that a WAL is synced at checkpoints only.
    saver.db.pragma('synchronous = FULL')
    const settings = () => ({
      journal_mode: saver.db.pragma('journal_mode', { simple: true }),
      synchronous: saver.db.pragma('synchronous', { simple: true }),
    })
    return { saver, settings, close: () => saver.db.close() }
  },
  async postgres({ url }) {
    const { PostgresSaver } = await import('@langchain/langgraph-checkpoint-postgres')
    const saver = PostgresSaver.fromConnString(url)
    await saver.setup()
    return { saver, close: () => saver.end() }
  },
  async perdure({ folder }) {
    const { PerdureSaver } = await import('perdure/langgraph')
    const { sqliteStore } = await import('perdure/sqlite')
    const store = sqliteStore({ path: join(folder, 'perdure.db') })
    return { saver: new PerdureSaver({ store }), close: () => store.close() }
  },
}

export async function open(kind, place) {
  const [saverKind, channel] = kind.split('-')
  const { saver, settings, close } = await savers[saverKind](place)
  const state = channel === 'delta' ? new StateSchema({ messages: MessagesDeltaValue }) : MessagesAnnotation
  const graph = new StateGraph(state)
    .addNode('model', ({ messages }) => ({ messages: [reply(messages.at(-1))] }))
    .addNode('tools', async ({ messages }) => ({ messages: [await run(messages.at(-1).tool_calls[0], place.folder)] }))
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) => (messages.at(-1).tool_calls?.length ? 'tools' : END))
    .addEdge('tools', 'model')
    .compile({ checkpointer: saver })
  const options = (id) => ({ configurable: { thread_id: id }, durability: 'sync' })
  const completed = ({ messages }) => {
    if (messages.at(-1).content !== answer) throw new Error('a turn had no answer')
  }
  return {
    settings,
    turn: async (id) => completed(await graph.invoke({ messages: [new HumanMessage(question)] }, options(id))),
    async ask(id) {
      const asked = await graph.invoke({ messages: [new HumanMessage(payment)] }, options(id))
      if (!asked.__interrupt__) throw new Error('the graph was not interrupted')
      return null
    },
    answer: async (id) => completed(await graph.invoke(new Command({ resume: true }), options(id))),
    close,
  }
}

function reply(last) {
  if (last.getType() === 'tool') return new AIMessage(answer)
  return new AIMessage({ content: '', tool_calls: [{ ...callAfter(last.content), type: 'tool_call' }] })
}

async function run(call, folder) {
  if (call.name === 'pay') interrupt('Pay?')
  const result = call.name === 'pay' ? await pay(folder) : look()
  return new ToolMessage({ tool_call_id: call.id, name: call.name, content: JSON.stringify(result) })
}
