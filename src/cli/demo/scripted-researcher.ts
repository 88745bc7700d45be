import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Step } from '../../testing/scripted-model-step.ts'
import { readPrompt } from './read-prompt.ts'

/** What the child agent does next: notes, the supplier, an answer. */
export function scriptedResearcher(prompt: LanguageModelV4Prompt): Exclude<Step, string> {
  const { replies } = readPrompt(prompt)
  if (!replies.has('read_notes')) return { calls: [{ tool: 'read_notes', args: {} }] }
  const supplier = replies.get('ask_supplier')
  if (!supplier) {
    const message = 'Which numbers of the reading lamp have the old switch?'
    return { calls: [{ tool: 'ask_supplier', args: { message } }] }
  }
  if (!supplier.ok)
    return { text: `The notes speak of a loose switch; the supplier was not asked (${supplier.error}).` }
  return { text: `The notes speak of a loose switch, and the supplier answers: ${String(supplier.value)}` }
}
