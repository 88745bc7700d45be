import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Agent } from '../../define/agent.ts'
import { defineTool } from '../../define/define-tool.ts'
import type { Verbs } from '../../runtime/runtime.ts'

export type ToolSurroundings = {
  readonly ledgerFile: string
  /** Multiplies every delay; 1 is for people. */
  readonly pace: number
  /** The runtime, as soon as it exists: tools start its flows. */
  readonly flows: () => Pick<Verbs, 'flow'>
  readonly researcher: Agent
}

const orderInput = {
  type: 'object',
  properties: { orderId: { type: 'string', description: 'Four digits' } },
  required: ['orderId'],
} as const

type OrderArgs = { readonly orderId: string }

/** One tool of each kind: waiting, slow, or running elsewhere. */
export function supportTools({ ledgerFile, pace, flows, researcher }: ToolSurroundings) {
  const refund = defineTool({
    name: 'refund',
    description: 'Pay an order back. A person has to approve it.',
    input: {
      type: 'object',
      properties: { ...orderInput.properties, cents: { type: 'integer', exclusiveMinimum: 0 } },
      required: ['orderId', 'cents'],
    },
    approval: 'required',
    prompt: (args) => {
      const { orderId, cents } = args as OrderArgs & { readonly cents: number }
      return `Pay ${inEuro(cents)} back for order ${orderId}?`
    },
    run: (args, turn) => {
      const { orderId, cents } = args as OrderArgs & { readonly cents: number }
      pay(ledgerFile, { callId: turn.callId!, orderId, cents })
      return { paid: inEuro(cents), orderId }
    },
  })

  const salesReport = defineTool({
    name: 'sales_report',
    description: 'Count the sales of the week. Takes some seconds.',
    input: { type: 'object', properties: {} },
    // An interrupted report is reported as such, and not silently started again.
    ifInterrupted: 'report',
    run: async (_, turn) => {
      const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday']
      for (const [index, day] of days.entries()) {
        turn.reportProgress({ done: index, total: days.length, text: `counting ${day}` })
        await wait(1_200 * pace, undefined, { signal: turn.signal })
      }
      return { lamps: 41, lanterns: 17, bulbs: 230 }
    },
  })

  const complaint = defineTool({
    name: 'complaint_form',
    description: 'Ask the customer what is wrong.',
    input: { type: 'object', properties: {} },
    executor: 'human',
    prompt: 'What is wrong with it?',
    output: {
      type: 'object',
      properties: {
        what: { enum: ['it broke', 'it came late', 'something else'] },
        stars: { type: 'integer', minimum: 1, maximum: 5, description: 'How do you like us all the same, 1 to 5?' },
        callBack: { type: 'boolean', title: 'may we call you back' },
        words: { type: 'string', title: 'in your own words' },
      },
      required: ['what', 'stars', 'callBack'],
    },
  })

  const research = defineTool({
    name: 'research',
    description: 'Have a colleague find something out about our lamps.',
    input: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
    executor: 'agent',
    agent: researcher,
  })

  const startReturn = defineTool({
    name: 'start_return',
    description: 'Begin the return of an order: prints a label and waits for the parcel.',
    input: orderInput,
    // The key makes a second start the first one.
    ifInterrupted: 'rerun',
    run: async (args, turn) => {
      const { orderId } = args as OrderArgs
      if (!findOrder(orderId)) throw new Error(`there is no order ${orderId}`)
      return flows().flow('return', `return-${orderId}`).start({ orderId }, { key: turn.callId! })
    },
  })

  const parcelArrived = defineTool({
    name: 'parcel_arrived',
    description: 'Tell a return that its parcel is here.',
    input: orderInput,
    ifInterrupted: 'rerun',
    run: async (args, turn) => {
      const { orderId } = args as OrderArgs
      return flows().flow('return', `return-${orderId}`).resume(true, { key: turn.callId! })
    },
  })

  return [refund, salesReport, complaint, research, startReturn, parcelArrived] as const
}

type Order = { readonly id: string; readonly item: string; readonly cents: number }

/** The orders of the demo's shop. */
export const orders: readonly Order[] = [
  { id: '1234', item: 'a reading lamp', cents: 4990 },
  { id: '1235', item: 'a garden lantern', cents: 8900 },
  { id: '1236', item: 'twelve light bulbs', cents: 1250 },
]

export function findOrder(id: string): Order | null {
  return orders.find((order) => order.id === id) ?? null
}

export function inEuro(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`
}

/** One refund that was paid. */
export type LedgerLine = {
  readonly callId: string
  readonly orderId: string
  readonly cents: number
  readonly at: string
}

/** The payments, as the demo's payment provider would record them. Nothing here looks for duplicates: Perdure must pay each refund once. */
function pay(file: string, payment: Omit<LedgerLine, 'at'>): void {
  appendFileSync(file, `${JSON.stringify({ ...payment, at: new Date().toISOString() })}\n`)
}

export function readLedger(file: string): LedgerLine[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((text) => JSON.parse(text) as LedgerLine)
}

/** The child agent's tools: notes to read, and a supplier to ask if a person approves. */
export const researcherTools = [
  defineTool({
    name: 'read_notes',
    description: 'Read the notes about our lamps.',
    input: { type: 'object', properties: {} },
    run: () => 'Reading lamps made before May have a loose switch. The supplier knows which numbers.',
  }),
  defineTool({
    name: 'ask_supplier',
    description: 'Write to the supplier. A person has to approve it.',
    input: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    approval: 'required',
    prompt: 'Write to the supplier?',
    run: () => 'Numbers below 5000 have the old switch. We send new ones.',
  }),
] as const
