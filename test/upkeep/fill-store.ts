import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const atOnce = 100

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({ cents: z.number() }),
  approval: 'required',
  expiresInMs: 30 * 86_400_000,
  run: ({ cents }) => ({ paid: cents }),
})
const agent = defineAgent({
  name: 'support',
  tools: [pay],
  audit: 'records',
  model: scriptedModel(({ prompt }) => {
    const last = prompt.findLast((message) => message.role !== 'system')
    if (last?.role === 'tool') return 'Paid.'
    return JSON.stringify(last).includes('refund')
      ? { text: 'One moment.', calls: [{ tool: 'pay', args: { cents: 5 } }] }
      : `I see. ${'All is well. '.repeat(20)}`
  }),
})

/** Real turns in so many conversations: every fifth has paid, every seventh waits for approval, every eleventh has a file and a fork. */
export async function fillStore(store: Store, conversations: number): Promise<void> {
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger })
  const one = async (n: number): Promise<void> => {
    const chat = runtime.conversation(`ticket-${n}`, { agent: 'support' })
    const file = { type: 'file', mediaType: 'text/plain', data: Buffer.from(`file ${n}`) } as const
    const parts = n % 11 === 0 ? [{ type: 'text', text: `hello ${n}` } as const, file] : `hello ${n}`
    await (await chat.send(parts as never, { key: `first-${n}` })).outcome()
    if (n % 5 === 0 || n % 7 === 0) {
      const turn = await chat.send(`a refund for ${n}, please`)
      const outcome = await turn.outcome()
      if (n % 7 !== 0 && outcome.status === 'waiting') await chat.approve(outcome.pending[0]!)
      await turn.outcome()
    }
  }
  const numbers = Array.from({ length: conversations }, (_, n) => n)
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) await one(n)
    }),
  )
  await runtime.close()
}

/** One conversation of so many events of about this size. */
export async function fillLog(store: Store, id: string, events: number, characters: number): Promise<void> {
  const text = 'x'.repeat(characters)
  const batch = Math.max(1, Math.min(500, Math.floor(4_000_000 / (characters + 200))))
  for (let first = 0; first < events; first += batch * 2) {
    const turns = Array.from(
      { length: Math.min(batch, Math.ceil((events - first) / 2)) },
      (_, n) => `t${first + n * 2}`,
    )
    await store.commit(id, {
      events: turns.flatMap((turnId) => [
        {
          type: 'user_msg' as const,
          content: { turnId, message: { parts: [{ type: 'text' as const, text }] }, options: {}, who: 'ann' },
        },
        { type: 'turn_ended' as const, content: { turnId, status: 'completed' as const, reason: null } },
      ]),
      conversation: { agent: 'support' },
      fsmState: { state: 'idle', pending: [], lastSeq: first + turns.length * 2 },
      wakeAt: null,
    })
  }
}
