/**
 * A conversation that is longer than what the model may see. Old turns are summarised in the background, so that no
 * turn waits; the log keeps every word; and every model call can explain why it did not see something.
 */
import assert from 'node:assert/strict'
import { createRuntime, defineAgent, memoryStore } from 'perdure'
import { expectStablePrefix, scriptedModel } from 'perdure/testing'

const model = scriptedModel(({ n }) => `Noted, that was ${n}. ${'I keep it in mind. '.repeat(12)}`)
// Summarising is simple work, so a cheap model is enough. Default: the agent's own.
const cheapModel = scriptedModel('They listed facts about their garden; the first was about a pear tree.')

const listener = defineAgent({
  name: 'listener',
  model,
  instructions: 'Listen.',
  audit: 'records',
  context: {
    // Tiny, so that a short example fills it. The default is 30,000 tokens.
    workingBudget: 1_200,
    injectionReserve: 200,
    summarise: { model: cheapModel, instructions: 'Sum up what the user told about the garden, in one sentence.' },
  },
})
const store = memoryStore()
const runtime = createRuntime({ agents: [listener], store })
const chat = runtime.conversation('garden', { agent: 'listener' })

for (let fact = 1; fact <= 20; fact += 1) {
  const told = fact === 1 ? 'There is a pear tree.' : `Fact ${fact}: there is a bed of flowers of kind ${fact}.`
  const outcome = await (await chat.send(told)).outcome()
  assert.equal(outcome.status, 'completed')
}

const lastPrompt = JSON.stringify(model.calls.at(-1)!.prompt)
const messagesSeen = model.calls.at(-1)!.prompt.filter(({ role }) => role === 'user' || role === 'assistant').length
const messagesInLog = (await chat.events()).filter(({ type }) => type === 'user_msg' || type === 'assistant_msg').length
console.log(`messages in the log: ${messagesInLog}`)
console.log(`the last call saw fewer: ${messagesSeen < messagesInLog}`)
assert(lastPrompt.includes('the first was about a pear tree'), 'the summary is in the prompt')
assert(!lastPrompt.includes('There is a pear tree.'), 'the turn it stands for is not')

// Why did it not see the first message?
const modelCalls = (await chat.modelCalls()).filter(({ turnRef }) => !turnRef.startsWith('summary/'))
const newest = modelCalls.reduce((latest, call) => (call.at >= latest.at ? call : latest))
const [first] = await chat.explain(newest)
console.log(`the first message was ${first!.shown}: ${first!.why}`)

// Reductions are rare. Between them each prompt begins with the whole previous prompt, which a provider's prompt cache
// charges less for.
expectStablePrefix(model.calls)
console.log('between reductions, every prompt only grew')

await runtime.close()
await store.close()
