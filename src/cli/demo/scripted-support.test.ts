import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { scriptedSupport } from './demo-models.ts'

function prompt(text: string, result?: { tool: string; output: object }): LanguageModelV4Prompt {
  const asked = { role: 'user', content: [{ type: 'text', text }] }
  if (!result) return [asked] as LanguageModelV4Prompt
  const part = { type: 'tool-result', toolCallId: 'x', toolName: result.tool, output: result.output }
  return [asked, { role: 'tool', content: [part] }] as LanguageModelV4Prompt
}

test.each([
  ['refund order 1234', 'refund'],
  ['I want my money back for 1236!', 'refund'],
  ['a report please', 'sales_report'],
  ['I have a complaint', 'complaint_form'],
  ['research the switch', 'research'],
  ['return order 1235', 'start_return'],
  ['the parcel of 1235 arrived', 'parcel_arrived'],
])("'%s' calls %s", (text, tool) => {
  expect(scriptedSupport(prompt(text)).calls).toMatchObject([{ tool }])
})

test.each([
  ['refund', /Which order/],
  ['refund order 9999', /Which order/],
  ['bonjour', /no language model but a short script/],
  ['tell me a story', /killed in the middle/],
])("'%s' calls nothing", (text, said) => {
  expect(scriptedSupport(prompt(text))).toMatchObject({ text: expect.stringMatching(said) })
})

test('results are told as they are: paid, changed, denied, unknown', () => {
  const told = (text: string, tool: string, output: object) => scriptedSupport(prompt(text, { tool, output })).text
  const paid = { paid: '49.90 EUR', orderId: '1234' }
  expect(told('refund 1234', 'refund', { type: 'json', value: paid })).toContain('49.90 EUR went back')
  const changed = { note: 'changed', result: { ...paid, paid: '1.00 EUR' } }
  expect(told('refund 1234', 'refund', { type: 'json', value: changed })).toContain('1.00 EUR went back')
  expect(told('refund 1234', 'refund', { type: 'error-text', value: 'tool call denied: no' })).toContain('denied: no')
  const unknown = { type: 'error-text', value: 'interrupted (outcome: unknown)' }
  expect(told('report', 'sales_report', unknown)).toContain('I cannot say whether it finished')
})
