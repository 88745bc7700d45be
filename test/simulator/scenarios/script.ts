import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Step } from '../../../src/testing/scripted-model.ts'

const call = (tool: string) => ({ tool, args: { what: tool } })

const hand = (what: string) => ({ tool: 'delegate', args: { what } })

/**
 * What the model says to a message, step by step. A chunk in parentheses triggers that while the message is being written. `(by)` is the process: two
 * of them never say the same there.
 */
const script: Readonly<Record<string, readonly Step[]>> = {
  'say hello': [{ text: ['Hello', ' there', '.'] }],
  'say it again': ['Hello again.'],
  'pay, look and book': [{ text: 'At once.', calls: [call('pay'), call('look'), call('book')] }, 'All three are done.'],
  'pay, look, ship': [
    { reasoning: 'Pay first.', calls: [call('pay')] },
    { text: ['Then', ' look.'], calls: [call('look')] },
    { reasoning: 'Now ship.', calls: [call('ship')] },
    'One after the other.',
  ],
  'refund me': [{ calls: [call('refund')] }, 'It is refunded.'],
  'wipe the disk': [{ calls: [call('wipe')] }, 'Then not.'],
  'ask me': [{ calls: [call('colour')] }, 'A fine colour.'],
  'ask nobody': [{ calls: [call('nobody')] }, 'Nobody is there.'],
  'look at my screen': [{ calls: [call('screen'), call('pay')] }, 'I have seen it.'],
  'be cancelled': [{ text: ['As I was', '(cancel)', ' never said'] }],
  'work until cancelled': [{ text: 'It takes long.', calls: [call('pay'), call('slow')] }, 'It was cut off too often.'],
  'break off': [{ text: ['This is', ' taken back'], calls: [call('pay')], cutAfter: 2 }, 'It is paid.'],
  'never mind, break off': [{ text: ['This was', ' never said'], cutAfter: 1 }],
  'be steered': [{ text: ['Go', '(steer)', ' straight.'] }],
  'turn left': ['I turn left.'],
  'be queued behind': [{ text: ['First', '(queue)', ' this.'] }],
  'then that': ['Then that.'],
  'be interrupted': [{ text: ['I was', '(interrupt)', ' never said'] }],
  'do this instead': [{ calls: [call('look')] }, 'This instead.'],
  'finish it': [{ text: 'At once.', calls: [call('finish'), call('look')] }, 'It was cut off too often.'],
  'keep both': [{ text: 'At once.', calls: [call('keep'), call('keep')] }, 'Both are kept.'],
  'keep them too': [{ text: 'At once.', calls: [call('keep')] }, 'They are kept.'],
  'with a note': [{ calls: [call('look')] }, 'Noted and done.'],
  'be rude': [{ text: 'Shut up.', calls: [call('pay')] }],
  'Be polite.': ['Good day.'],
  'say what must not be said': [{ text: ['This was', ' never said'], calls: [call('pay')] }],
  'give me an object': [{ object: { answer: 'many' } }],
  'Your answer does not fit the schema': [{ object: { answer: 42 } }],
  'end your process': [{ text: ['As I', '(die)', ' never said'] }],
  'wait for the others': [{ calls: [call('patient')] }, 'They are done.'],
  'have it done': [{ calls: [hand('pay and report')] }, 'It is done.'],
  'have both done': [{ calls: [hand('pay and report'), call('look'), hand('look and report')] }, 'Both are done.'],
  'have it refunded': [{ calls: [hand('refund and report')] }, 'It is refunded.'],
  'let it be done slowly': [{ calls: [hand('take long and report')] }, 'It was cut off too often.'],
  'pay and report': [{ calls: [call('pay')] }, 'Paid (by).'],
  'look and report': [{ text: ['I', ' look.'], calls: [call('look')] }, 'Seen (by).'],
  'refund and report': [{ calls: [call('refund')] }, 'Refunded (by).'],
  'take long and report': [{ calls: [call('slow')] }, 'Done (by).'],
  'by the way': ['I see.'],
  'when you are done': [{ calls: [call('pay')] }, 'That too.'],
}

/** A function of the prompt alone, but for `(by)`: a model that is asked again after a crash says the same again. */
export function stepFor(prompt: LanguageModelV4Prompt, processName: string): Step {
  for (let index = prompt.length - 1; index >= 0; index--) {
    const steps = stepsFor(prompt[index]!)
    if (!steps) continue
    const done = prompt.slice(index).filter((message) => message.role === 'assistant').length
    const step = steps[done] ?? 'There is nothing left to do.'
    return typeof step === 'string' ? step.replace('(by)', `by ${processName}`) : step
  }
  throw new Error(`nothing in the prompt is in the script: ${JSON.stringify(prompt)}`)
}

function stepsFor(message: LanguageModelV4Prompt[number]): readonly Step[] | null {
  if (message.role !== 'user') return null
  const text = message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  const found = Object.keys(script).find((known) => text.startsWith(known))
  return found === undefined ? null : script[found]!
}
