import { expect, test } from 'vitest'
import { foldEvents } from '../../src/log/fold-events.ts'
import { fsmStateOf } from '../../src/log/fsm-state.ts'
import { nextStep } from '../../src/log/next-step.ts'
import { baseOf } from '../../src/log/state.ts'
import { noReduction } from '../../src/prompt/budget/reduce.ts'
import { renderContext } from '../../src/prompt/render/render-context.ts'
import { seededRandom } from '../faults/harness/seeded-random.ts'
import { generateLog } from './log-generator.ts'
import { models } from './message-generator.ts'

test('after a summary at the end of any turn, what is decided and what the model sees is the same as with the whole log', () => {
  let splits = 0
  for (let n = 0; n < 80; n++) {
    const { log } = generateLog(seededRandom(5_000 + n))
    const ends = log.flatMap((event) => (event.type === 'turn_ended' ? [event.seq] : []))
    for (const toSeq of ends) {
      const base = baseOf(foldEvents(log.slice(0, toSeq)))
      const reduction = { ...noReduction, summary: { toSeq, version: 1, text: 'they talked' } }
      // The commit that withdraws what a summary covers deletes the summary.
      const end = log.findIndex(
        (event) => event.seq > toSeq && event.type === 'superseded' && event.content.fromSeq <= toSeq,
      )
      for (let at = toSeq; at <= (end < 0 ? log.length : end); at++) {
        const whole = foldEvents(log.slice(0, at))
        const revived = foldEvents(log.slice(toSeq, at), base)
        expect(nextStep(revived, new Set())).toEqual(nextStep(whole, new Set()))
        // A summary stands for the messages before it.
        const { lastMessage: _, tokens: __, ...cached } = fsmStateOf(whole)
        expect(fsmStateOf(revived)).toMatchObject(cached)
        const options = { system: 'Be brief.', model: models[at % models.length]!, reduction }
        expect(renderContext(revived, options)).toEqual(renderContext(whole, options))
        splits += 1
      }
    }
  }
  expect(splits).toBeGreaterThan(1_000)
})
