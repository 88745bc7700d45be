/**
 * Would another prompt or another model have done better? Fork a conversation right before the answer in question,
 * continue with each candidate, and compare. The original stays as it is.
 */
import assert from 'node:assert/strict'
import { createRuntime, defineAgent, deriveAgent, memoryStore } from 'perdure'
import { scriptedModel } from 'perdure/testing'

const wordy =
  'Dear customer, thank you ever so much for your message. Regrettably we must inform you that it is broken.'
const support = defineAgent({
  name: 'support',
  model: scriptedModel(['How can I help?', wordy], { modelId: 'big-model' }),
  instructions: 'Be polite.',
})
// Code is registered, not stored: a candidate is an agent of its own, so that any node can continue the fork after a
// crash.
const brief = deriveAgent(support, {
  name: 'support-brief',
  model: scriptedModel('Sorry, it is broken. You get a new one.', { modelId: 'big-model' }),
  instructions: 'Be polite, and say it in ten words.',
})
const small = deriveAgent(support, {
  name: 'support-small',
  model: scriptedModel('It broke. We replace it at no cost.', { modelId: 'small-model' }),
})

const store = memoryStore()
const runtime = createRuntime({ agents: [support, brief, small], store })
const original = runtime.conversation('ticket-42', { agent: 'support' })
await (await original.send('Hello')).outcome()
await (await original.send('My lamp is broken.')).outcome()

// A fork can be cut after any event; here after the question, before the answer.
const events = await original.events()
const question = events.findLast((event) => event.type === 'user_msg')!
const lengthBefore = events.length

type Row = { agent: string; model: string; words: number; answer: string }
const rows: Row[] = [await rowOf('support', original)]
for (const candidate of [brief, small]) {
  const fork = await original.fork({ at: question.seq, agent: candidate })
  await fork.continue()
  rows.push(await rowOf(candidate.name, fork))
}
for (const { agent, model, words, answer } of rows) {
  console.log(`${agent.padEnd(14)} ${model.padEnd(12)} ${String(words).padStart(2)} words  ${answer.slice(0, 40)}`)
}

assert.equal((await original.events()).length, lengthBefore)
const forks = await original.forks()
console.log(`forks: ${forks.length}, each at ${question.seq} of ${lengthBefore} events; the original is as it was`)
assert.equal(forks.length, 2)

await runtime.close()
await store.close()

async function rowOf(agent: string, chat: Pick<typeof original, 'outcome' | 'events'>): Promise<Row> {
  const outcome = await chat.outcome()
  assert(outcome.status === 'completed')
  const message = (await chat.events()).findLast((event) => event.type === 'assistant_msg')!
  return { agent, model: message.content.model.modelId, words: outcome.text.split(' ').length, answer: outcome.text }
}
