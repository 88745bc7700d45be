import { appendFileSync } from 'node:fs'
import { defineAgent, defineSubscriber, defineTool } from 'perdure'
import { z } from 'zod'
import { model } from './model.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), cents: z.number().int() }),
  approval: 'required',
  describe: ({ orderId, cents }) => `Refund ${(cents / 100).toFixed(2)} EUR for order ${orderId}`,
  // What the tool does to the world: a line in a file.
  run: async ({ cents }, turn) => {
    appendFileSync(process.env.EFFECTS ?? 'effects.txt', `${turn.conversationId}\n`)
    return { paid: cents }
  },
})

export const support = defineAgent({ name: 'support', model, instructions: 'Be brief.', tools: [refund] })

export const channel = defineSubscriber({
  name: 'channel',
  on: ['resolution'],
  run: ({ conversationId }) => appendFileSync(process.env.EFFECTS ?? 'effects.txt', `told ${conversationId}\n`),
})
