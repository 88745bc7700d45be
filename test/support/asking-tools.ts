import { z } from 'zod'
import { defineTool } from '../../src/define/define-tool.ts'

/** Needs an approval. */
export const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ cents: z.number().int() }),
  approval: 'required',
  run: ({ cents }) => ({ paid: cents }),
})

/** Needs an answer. */
export const ask = defineTool({
  name: 'ask',
  description: 'Ask the person',
  executor: 'human',
  input: z.object({ question: z.string() }),
  output: z.object({ text: z.string() }),
})
