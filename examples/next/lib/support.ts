import { defineAgent, defineTool } from 'perdure'
import { z } from 'zod'
import { model } from './model.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), cents: z.number().int() }),
  approval: 'required',
  describe: ({ orderId, cents }) => `Refund ${(cents / 100).toFixed(2)} EUR for order ${orderId}`,
  run: async ({ cents }) => ({ paid: cents }),
})

export const support = defineAgent({ name: 'support', model, instructions: 'Be brief.', tools: [refund] })
