/**
 * The SDK ships no session on disk. This one is a file of JSON lines for each session: `addItems` appends its items in one write and syncs the file, `getItems`
 * reads and parses the file. A run that waits for an approval is a second file, the SDK's own text of the run state, synced too.
 */
import { open as openFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, RunState, run, setTracingDisabled, tool, Usage } from '@openai/agents-core'
import { z } from 'zod'
import { answer, callAfter, instructions, look, pay, payment, question } from '../script.js'

setTracingDisabled(true)

class FileSession {
  constructor(path, id) {
    this.path = path
    this.id = id
  }
  async getSessionId() {
    return this.id
  }
  async getItems(limit) {
    const text = await readFile(this.path, 'utf8').catch(() => '')
    const items = text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    return limit === undefined ? items : items.slice(-limit)
  }
  async addItems(items) {
    if (items.length > 0) await writeSynced(this.path, 'a', items.map((item) => `${JSON.stringify(item)}\n`).join(''))
  }
  async popItem() {
    const items = await this.getItems()
    const last = items.pop()
    await writeSynced(this.path, 'w', items.map((item) => `${JSON.stringify(item)}\n`).join(''))
    return last
  }
  async clearSession() {
    await writeSynced(this.path, 'w', '')
  }
}

async function writeSynced(path, flags, text) {
  const file = await openFile(path, flags)
  await file.writeFile(text)
  await file.datasync()
  await file.close()
}

const model = {
  async getResponse({ input }) {
    return {
      usage: new Usage({ requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 }),
      output: [output(input)],
    }
  },
  // biome-ignore lint/correctness/useYield: the bench does not stream here.
  async *getStreamedResponse() {
    throw new Error('the bench does not stream here')
  },
}

function output(input) {
  const last = typeof input === 'string' ? { content: input } : input.at(-1)
  if (last.type === 'function_call_result')
    return { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: answer }] }
  const text = typeof last.content === 'string' ? last.content : last.content.map((part) => part.text).join('')
  const { id, name, args } = callAfter(text)
  return { type: 'function_call', callId: id, name, status: 'completed', arguments: JSON.stringify(args) }
}

export async function open(_kind, { folder }) {
  const agent = new Agent({
    name: 'bench',
    instructions,
    model,
    tools: [
      tool({ name: 'look', description: 'Look it up', parameters: z.object({ q: z.string() }), execute: look }),
      tool({
        name: 'pay',
        description: 'Pay',
        parameters: z.object({ cents: z.number() }),
        needsApproval: true,
        execute: () => pay(folder),
      }),
    ],
  })
  const session = (id) => new FileSession(join(folder, `${id}.jsonl`), id)
  const stateFile = (id) => join(folder, `${id}.state`)
  const completed = ({ finalOutput }) => {
    if (finalOutput !== answer) throw new Error('a turn had no answer')
  }
  return {
    turn: async (id) => completed(await run(agent, question, { session: session(id) })),
    async ask(id) {
      const { interruptions, state } = await run(agent, payment, { session: session(id) })
      if (interruptions.length !== 1) throw new Error('nothing was asked')
      await writeSynced(stateFile(id), 'w', state.toString())
      return null
    },
    async answer(id) {
      const state = await RunState.fromString(agent, await readFile(stateFile(id), 'utf8'))
      for (const item of state.getInterruptions()) state.approve(item)
      completed(await run(agent, state, { session: session(id) }))
    },
    settings: () => ({ 'each write': 'fdatasync' }),
    async close() {},
  }
}
