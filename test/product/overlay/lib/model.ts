import { scriptedModel } from 'perdure/testing'
import { version } from './version.ts'

let answers = 0

/** Says so many words, slowly, when it is told "slow 40"; asks for a refund when it is told to; else tells which code it is. Numbers its answers. */
export const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)
  const said = JSON.stringify(last?.content).toLowerCase()
  if (last?.role === 'tool') return said.includes('paid') ? 'You have your money back.' : 'Then I leave it as it is.'
  if (said.includes('refund'))
    return { text: 'Let me ask.', calls: [{ tool: 'refund', args: { orderId: 'o-17', cents: 4900 } }] }
  if (said.includes('a tale')) return { text: 'Once upon a', finishReason: 'length' }
  answers += 1
  const words = /slow (\d+)/.exec(said)?.[1]
  if (!words)
    return `This is version ${version}. You said ${said.match(/[a-z]+ \d+/)?.[0] ?? 'hello'}. That was answer-${answers}.`
  return { text: [...Array(Number(words)).keys()].map((n) => `word-${n + 1} `).concat('done.'), delayMs: 100 }
})
