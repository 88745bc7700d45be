import { expect, test } from 'vitest'
import { legalPrompts } from './legal-prompts.ts'

test('every prefix of every generated log is a prompt that OpenAI, Anthropic and Google take, and between reductions prompts only grow', {
  timeout: 120_000,
}, () => {
  const { problems, tooRare, prompts } = legalPrompts(120, 42)
  expect(problems).toEqual([])
  expect(tooRare).toEqual([])
  expect(prompts).toBeGreaterThan(20_000)
})
