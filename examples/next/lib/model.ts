import { scriptedModel } from 'perdure/testing'

/** Runs offline. Replace it with any AI SDK model. */
export const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)
  const said = JSON.stringify(last).toLowerCase()
  if (last?.role === 'tool') return said.includes('paid') ? 'You have your money back.' : 'Then I leave it as it is.'
  if (!said.includes('refund')) return { text: ['Hello. ', 'Say "refund" ', 'and see.'], delayMs: 50 }
  return { text: 'Let me ask.', calls: [{ tool: 'refund', args: { orderId: 'o-17', cents: 4900 } }] }
})
