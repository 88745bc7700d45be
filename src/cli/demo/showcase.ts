import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Agent } from '../../define/agent.ts'
import { defineAgent } from '../../define/define-agent.ts'
import { defineTool } from '../../define/define-tool.ts'
import { type Step, scriptedModel } from '../../testing/scripted-model.ts'

/** The agents behind the example conversations of the demo. They follow a script, so they need no key and cost nothing. */
export type Showcase = {
  readonly agents: readonly Agent[]
  /** Conversations with this agent are at the desk of the shop. */
  readonly desk: string
  /** Conversations with this agent grow so long that old turns are summarised. */
  readonly gardener: string
  /** While true, the model of the desk fails. */
  setDown(isDown: boolean): void
}

const hourMs = 3_600_000

export function showcase(desk: string): Showcase {
  let isDown = false
  const researcher = defineAgent({
    name: `${desk}-colleague`,
    instructions: 'You find things out for a lamp shop.',
    audit: 'full',
    tools: [readNotes, askSupplier],
    model: scriptedModel(({ prompt }) => counted(prompt, researching(prompt)), {
      provider: 'demo',
      modelId: 'scripted-colleague',
    }),
  })
  const research = defineTool({
    name: 'research',
    description: 'Have a colleague find something out',
    input: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
    executor: 'agent',
    agent: researcher,
  })
  const atDesk = defineAgent({
    name: desk,
    instructions:
      'You are the support of a small lamp shop. Be brief and friendly. Use the tools; never invent what they would say.',
    audit: 'full',
    tools: [refund, askAddress, chooseColour, findOrders, research],
    model: scriptedModel(
      ({ prompt }) =>
        isDown
          ? { error: { status: 400, message: 'The model is being replaced. Try again later.' } }
          : counted(prompt, answering(prompt)),
      { provider: 'demo', modelId: 'scripted-desk' },
    ),
  })
  const gardener = `${desk}-gardener`
  return {
    agents: [atDesk, researcher, listener(gardener)],
    desk,
    gardener,
    setDown: (value) => {
      isDown = value
    },
  }
}

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back. A person has to approve it.',
  input: {
    type: 'object',
    properties: {
      orderId: { type: 'string', description: 'As it is printed on the parcel' },
      cents: { type: 'integer', exclusiveMinimum: 0, title: 'Amount in cents' },
      reason: { enum: ['broken', 'late', 'not wanted'] },
    },
    required: ['orderId', 'cents'],
  },
  approval: 'required',
  expiresInMs: 7 * 24 * hourMs,
  describe: (args) => refundLine(args as RefundArgs),
  prompt: (args) => `${refundLine(args as RefundArgs)}?`,
  run: (args) => ({ paid: (args as RefundArgs).cents, orderId: (args as RefundArgs).orderId }),
})

type RefundArgs = { readonly orderId: string; readonly cents: number }

function refundLine({ orderId, cents }: RefundArgs): string {
  return `Refund ${(cents / 100).toFixed(2)} EUR for order ${orderId}`
}

const askAddress = defineTool({
  name: 'ask_address',
  description: 'Ask a person for an address',
  input: { type: 'object', properties: {} },
  executor: 'human',
  prompt: 'Where should the new lamp go?',
  expiresInMs: 0.75 * hourMs,
  output: {
    type: 'object',
    properties: {
      street: { type: 'string', minLength: 1 },
      city: { type: 'string', minLength: 1 },
      floor: { type: 'integer', minimum: 0, maximum: 60 },
      express: { type: 'boolean', description: 'Arrives tomorrow, for 4.90 EUR' },
    },
    required: ['street', 'city', 'express'],
  },
})

const chooseColour = defineTool({
  name: 'choose_colour',
  description: 'Ask a person for a colour',
  input: { type: 'object', properties: {} },
  executor: 'human',
  prompt: 'Which colour should it have?',
  output: { enum: ['brass', 'black', 'white'] },
})

const findOrders = defineTool({
  name: 'find_orders',
  description: 'Look up the orders of a customer',
  input: { type: 'object', properties: { customer: { type: 'string' } }, required: ['customer'] },
  run: (args) => [{ id: 'o-17', customer: (args as { customer: string }).customer, item: 'reading lamp', cents: 4990 }],
})

const readNotes = defineTool({
  name: 'read_notes',
  description: 'Read the notes about our lamps',
  input: { type: 'object', properties: {} },
  run: () => 'Reading lamps made before May have a loose switch. The supplier knows which numbers.',
})

const askSupplier = defineTool({
  name: 'ask_supplier',
  description: 'Write to the supplier. A person has to approve it.',
  input: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  approval: 'required',
  expiresInMs: 24 * hourMs,
  describe: () => 'Write to the supplier',
  run: () => 'Numbers below 5000 have the old switch. We send new ones.',
})

/** Roughly the tokens that a model would count, so that the figures of the examples differ as real ones do. */
function counted(prompt: LanguageModelV4Prompt, step: Exclude<Step, string>): Step {
  const tokensIn = (value: object): number => Math.ceil(JSON.stringify(value).length / 4)
  return { ...step, usage: { inputTokens: tokensIn(prompt), outputTokens: tokensIn(step) } }
}

/** By the words of the last message, like the script of the chat. */
function answering(prompt: LanguageModelV4Prompt): Exclude<Step, string> {
  const last = prompt.at(-1)!
  const said = JSON.stringify(last)
  if (last.role === 'tool') {
    if (said.includes('reading lamp'))
      return { text: 'I found the order.', calls: [{ tool: 'refund', args: refundOf(prompt) }] }
    if (said.includes('error-text')) return { text: 'Then I leave it as it is. The order stays open.' }
    return { text: 'Done. **Anything else?**\n\n- The order is settled\n- A mail is on its way' }
  }
  if (/\bstory\b/.test(said)) return { text: 'Once there was a lamp'.split(/(?<=\s)/), stallAfter: 4 }
  if (/refund/i.test(said)) {
    const thought = 'They want their money back. First I need the order.'
    return {
      reasoning: thought,
      text: 'One moment.',
      calls: [{ tool: 'find_orders', args: { customer: 'ann' } }],
    }
  }
  if (said.includes('address')) return { text: 'I need to ask.', calls: [{ tool: 'ask_address', args: {} }] }
  if (said.includes('colour')) return { calls: [{ tool: 'choose_colour', args: {} }] }
  if (said.includes('research')) {
    const question = 'Which reading lamps have the loose switch?'
    return { text: 'I ask a colleague.', calls: [{ tool: 'research', args: { question } }] }
  }
  return { reasoning: 'They only say hello.', text: 'Hello. How can I help?' }
}

/** Two kinds of refund, so that the inbox does not look like one. */
function refundOf(prompt: LanguageModelV4Prompt): RefundArgs & { readonly reason?: string } {
  const isLantern = JSON.stringify(prompt).includes('lantern')
  return isLantern
    ? { orderId: 'o-18', cents: 8900, reason: 'late' }
    : { orderId: 'o-17', cents: 4990, reason: 'broken' }
}

function researching(prompt: LanguageModelV4Prompt): Exclude<Step, string> {
  const said = JSON.stringify(prompt)
  if (!said.includes('made before May'))
    return { reasoning: 'The notes may know.', calls: [{ tool: 'read_notes', args: {} }] }
  if (said.includes('Only the notes')) return { text: 'Reading lamps made before May have a loose switch.' }
  if (!said.includes('old switch')) {
    return { calls: [{ tool: 'ask_supplier', args: { message: 'Which numbers have the loose switch?' } }] }
  }
  return { text: 'Numbers below 5000 have the old switch; the supplier sends new ones.' }
}

/** A budget that is small enough for a short conversation to be summarised. */
function listener(name: string): Agent {
  return defineAgent({
    name,
    instructions: 'Listen to what people tell about their garden.',
    audit: 'full',
    model: scriptedModel(({ prompt }) => counted(prompt, { text: noted(prompt) }), {
      provider: 'demo',
      modelId: 'scripted-gardener',
    }),
    context: {
      workingBudget: 1_200,
      injectionReserve: 200,
      summarise: {
        model: scriptedModel('They told about their garden: a pear tree by the gate, and beds of many flowers.', {
          provider: 'demo',
          modelId: 'scripted-summary',
        }),
        instructions: 'Sum up what the user told about the garden, in one sentence.',
      },
    },
  })
}

function noted(prompt: LanguageModelV4Prompt): string {
  const count = prompt.filter(({ role }) => role === 'user').length
  return `Noted. ${'I keep that in mind for the plan of the garden. '.repeat(3 + (count % 3))}`
}
