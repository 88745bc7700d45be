/**
 * What every subject plays. A turn: the user asks, the model calls `look`, the model answers. In a turn that asks for a payment, the model calls `pay` instead,
 * which waits for an approval.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export const question = 'What is the answer?'
export const payment = 'Pay the invoice.'
export const answer = 'It is 42.'
export const instructions = 'Answer by looking it up.'

/** How long a payment takes, as a real one does: long enough for a second approval to come meanwhile. */
const payMs = Number(process.env.PAY_MS ?? 0)
let calls = 0

/** The model: a call after a user's message, the answer after a result. */
export function callAfter(text) {
  calls += 1
  const id = `call_${process.pid}_${calls}`
  return text.includes(payment)
    ? { id, name: 'pay', args: { cents: 4900 } }
    : { id, name: 'look', args: { q: 'answer' } }
}

export const look = () => ({ found: 42 })

/** Each run of the effect is a line in a file, so that runs in several processes are counted. */
export async function pay(folder) {
  await sleep(payMs)
  appendFileSync(join(folder, 'effects'), 'paid\n')
  return { paid: 4900 }
}
