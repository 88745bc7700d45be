import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { foldEvents } from '../../src/log/fold-events.ts'
import { noReduction, type Reduction } from '../../src/prompt/budget/reduce.ts'
import { renderContext } from '../../src/prompt/render/render-context.ts'
import { seededRandom } from '../faults/harness/seeded-random.ts'
import { type Api, captureRequest, modelOf } from './capture-request.ts'
import { generateLog } from './log-generator.ts'
import { anthropicProblems } from './validate-anthropic-body.ts'
import { openaiChatProblems } from './validate-openai-chat-body.ts'
import { openaiResponsesProblems } from './validate-openai-responses-body.ts'

const blobs = new Map([['a'.repeat(64), new Uint8Array([1, 2, 3])]])

const apis: [Api, (body: unknown) => string[]][] = [
  ['openai chat', openaiChatProblems],
  ['openai responses', openaiResponsesProblems],
  ['openai responses without store', openaiResponsesProblems],
  ['anthropic', anthropicProblems],
]

test.each(apis)('what the real encoder for %s makes of generated logs is a legal request', async (api, problemsOf) => {
  const problems: string[] = []
  let bodies = 0
  for (let n = 0; n < 60; n++) {
    const random = seededRandom(77_000 + n)
    const { log } = generateLog(random)
    for (let at = random.int(0, 3); at <= log.length; at += random.int(1, 6)) {
      const state = foldEvents(log.slice(0, at))
      const stubbed = new Map(state.turns.flatMap((turn) => turn.calls.map((call) => [call.callId, 'old'] as const)))
      const summary = { toSeq: random.int(0, at), version: 1, text: 'they talked' }
      const reduction: Reduction = random.chance(0.3) ? { summary, windowFrom: 0, stubbed } : noReduction
      const injections = random.chance(0.3) ? [{ type: 'text' as const, text: 'injected' }] : []
      const prompt = renderContext(state, { system: 'Be brief.', model: modelOf[api], blobs, reduction, injections })
      const found = problemsOf(await captureRequest(api, prompt))
      problems.push(...found.map((problem) => `log ${n}, seq ${at}: ${problem}`))
      bodies += 1
    }
  }
  expect(problems).toEqual([])
  expect(bodies).toBeGreaterThan(300)
})

describe.each(apis)('the check of requests for %s notices', (api, problemsOf) => {
  const asks: LanguageModelV4Message = { role: 'user', content: [{ type: 'text', text: 'hello' }] }
  const calls = (toolCallId: string, toolName = 'look'): LanguageModelV4Message => ({
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId, toolName, input: {} }],
  })
  const gives = (toolCallId: string, value = 'done'): LanguageModelV4Message => ({
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId, toolName: 'look', output: { type: 'text', value } }],
  })

  test.each<[string, LanguageModelV4Prompt]>([
    ['a call without a result', [asks, calls('a'), asks]],
    ['a result without a call', [asks, gives('a'), asks]],
    ['an id that is used twice', [asks, calls('a'), gives('a'), calls('a'), gives('a')]],
    ['a name that is not one', [asks, calls('a', 'a b'), gives('a')]],
    ['an empty result', [asks, calls('a'), gives('a', '')]],
    ['an empty text', [{ role: 'user', content: [{ type: 'text', text: ' ' }] }]],
    ['results that come late', [asks, calls('a'), asks, gives('a')]],
  ])('%s', async (_, prompt) => {
    expect(problemsOf(await captureRequest(api, prompt))).not.toEqual([])
  })
})
