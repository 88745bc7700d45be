/**
 * Guardrails around a model call: one checks the input and may end the turn, one checks the answer and may have it
 * regenerated, and one removes secrets from the text while it streams.
 */
import assert from 'node:assert/strict'
import {
  type ChunkTransformer,
  createRuntime,
  defineAgent,
  halt,
  memoryStore,
  postHook,
  preHook,
  regenerate,
} from 'perdure'
import { scriptedModel } from 'perdure/testing'

// Before the model: `halt` ends the turn, and the model is not called.
const noCardNumbers = preHook('no-card-numbers', (turn) => {
  const isCard = turn.userMessage?.parts.some((part) => part.type === 'text' && /\b(?:\d[ -]?){16}\b/.test(part.text))
  return isCard ? halt('Please do not send card numbers.') : undefined
})

// After the model, before its message is committed: `regenerate` gives the model a reason and calls it again, at most
// `maxRegenerations` times.
const noPromises = postHook('no-promises', (turn) => {
  const isPromise = /guarantee/i.test(turn.assistantMessage?.text ?? '')
  return isPromise ? regenerate('Do not promise what we cannot keep.') : undefined
})

// While it streams: people see, and the log keeps, what this returns. It gets one chunk at a time, so match only what
// arrives in one piece.
const hideKeys: ChunkTransformer = (chunk) =>
  chunk.type === 'text_delta' ? { ...chunk, delta: chunk.delta.replaceAll(/sk-\w+/g, '[key]') } : chunk

const model = scriptedModel([
  'We guarantee delivery tomorrow.',
  'It usually comes within two days.',
  { text: ['Your key is ', 'sk-123abc', '.'] },
])
const clerk = defineAgent({
  name: 'clerk',
  model,
  hooks: [noCardNumbers, noPromises],
  maxRegenerations: 1,
  transformChunk: hideKeys,
})
const store = memoryStore()
const runtime = createRuntime({ agents: [clerk], store })
const chat = runtime.conversation('desk-1', { agent: 'clerk' })

async function ask(question: string) {
  const outcome = await (await chat.send(question)).outcome()
  assert(outcome.status === 'completed' || outcome.status === 'halted')
  console.log(`${question} -> ${outcome.status}: ${outcome.text || outcome.reason}`)
  return outcome
}

await ask('My card is 4111 1111 1111 1111')
assert.equal(model.calls.length, 0)

await ask('When does it come?')
assert.equal(model.calls.length, 2)
// The first draft stays in the log for inspection, and is never shown to the model or the user again.
const regenerated = (await chat.events()).find((event) => event.type === 'regeneration')
console.log('written again, because:', regenerated?.content.feedback)

await ask('What is my key?')
assert(!JSON.stringify(await chat.events()).includes('sk-123abc'))
console.log('the key is nowhere in the log')

await runtime.close()
await store.close()
