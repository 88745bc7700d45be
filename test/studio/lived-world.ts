import { defineAgent, defineTool } from 'perdure'
import type { RemoteConversation } from 'perdure/client'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), cents: z.number() }),
  approval: 'required',
  run: ({ cents }) => ({ paid: cents }),
})

let asked = 0
export const support = defineAgent({
  name: 'support',
  instructions: 'You are the support of a small lamp shop.',
  tools: [refund],
  audit: 'full',
  context: {
    workingBudget: 600,
    injectionReserve: 100,
    summarise: { model: scriptedModel(() => 'They talked about lamps.') },
  },
  model: scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)!
    const said = JSON.stringify(last)
    if (last.role === 'tool') return 'You have your money back.'
    if (said.includes('refund'))
      return { text: 'One moment.', calls: [{ tool: 'refund', args: { orderId: 'o-17', cents: 5000 } }] }
    if (said.includes('long')) return `A long answer. ${'Lamps need light. '.repeat(40)}`
    asked += 1
    return `Answer ${asked}.`
  }),
})

/** A conversation of `support` with a summary, a cancelled and a retried turn, an edited approval and a fork. Returns its last seq. */
export async function lived(ticket: RemoteConversation): Promise<number> {
  const say = async (text: string) => ticket.outcome((await ticket.send(text)).turnId)
  for (const text of ['Tell me a long story', 'Another long one', 'And a long third']) await say(text)
  await say('Please refund o-17')
  await ticket.cancel()
  await say('Try again?')
  const { turnId } = await ticket.retry()
  await ticket.outcome(turnId)
  await say('A refund, now really')
  const [call] = (await ticket.view()).pending
  await ticket.approve(call!.callId, { args: { orderId: 'o-17', cents: 4500 } })
  const { seq } = await untilIdle(ticket)
  await ticket.fork({ at: 4, id: `${ticket.id}-fork` })
  return seq
}

export async function untilIdle(ticket: RemoteConversation) {
  for await (const view of ticket.views()) if (view.phase === 'idle') return view
  throw new Error('the stream ended')
}
