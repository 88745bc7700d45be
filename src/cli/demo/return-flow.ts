import { setTimeout as wait } from 'node:timers/promises'
import { defineFlow } from '../../define/define-flow.ts'

/** A parcel that comes back: a label now, then days of waiting in which no process is needed, then the shelf. */
export function returnFlow(pace: number) {
  return defineFlow({
    name: 'return',
    version: 1,
    input: { type: 'object', properties: { orderId: { type: 'string' } }, required: ['orderId'] },
    run: async (flow, input) => {
      const { orderId } = input as { readonly orderId: string }
      const label = await flow.step('print label', { input: { orderId } }, () => `R-${orderId}`)
      await flow.suspend({ waitsFor: 'the parcel', orderId, label })
      await flow.step('inspect and put back', { input: { orderId } }, async ({ signal }) => {
        await wait(800 * pace, undefined, { signal })
        return 'as good as new'
      })
      return { orderId, label, state: 'back on the shelf' }
    },
  })
}
