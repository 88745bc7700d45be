import { defineFlow } from '../../../src/define/define-flow.ts'

export const stepNames = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'] as const

export const expectedResult = { sum: 55, answer: 'go on', ids: 36 }

/** Ten steps, two of them side by side, with a question, a sleep, chance, and a fresh record in between. `ran` tells of every run. */
export function tenSteps(ran: (step: string, id: string) => void) {
  return defineFlow({
    name: 'ten-steps',
    version: 1,
    run: async (flow, input) => {
      const step = (n: number) =>
        flow.step(stepNames[n - 1]!, { input: n }, async ({ id }) => {
          ran(stepNames[n - 1]!, id)
          await new Promise((resolve) => setImmediate(resolve))
          return n
        })
      if (input !== null) {
        const { sum, ...rest } = input as { sum: number; answer: string; ids: number }
        return { ...rest, sum: sum + (await step(9)) + (await step(10)) }
      }
      const first = [await step(1), await step(2), await step(3)]
      const beside = await Promise.all([step(4), step(5)])
      const id = await flow.uuid()
      const answer = await flow.suspend<string>('go on?')
      const later = [await step(6), await step(7)]
      await flow.sleep(15)
      const last = await step(8)
      const sum = [...first, ...beside, ...later, last].reduce((total, n) => total + n)
      return flow.continueAs({ sum, answer, ids: id.length })
    },
  })
}
