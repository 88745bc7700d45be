/**
 * State and extensions: the model keeps a list of tasks, and asks the person where it must not guess. The list is in the
 * state of the conversation, so it is there exactly when the results of the tools are.
 */
import assert from 'node:assert/strict'
import { createRuntime, defineAgent, memoryStore } from 'perdure'
import { askUser, todos } from 'perdure/extensions'
import { scriptedModel } from 'perdure/testing'

const question = { question: 'Which tea?', kind: 'single', options: [{ value: 'green' }, { value: 'black' }] }
const model = scriptedModel([
  // Two calls at once: both keep their tasks.
  {
    calls: [
      { tool: 'write_todos', args: { texts: ['boil water'] } },
      { tool: 'write_todos', args: { texts: ['choose a tea'] } },
    ],
  },
  { calls: [{ tool: 'ask_user', args: question }] },
  { calls: [{ tool: 'tick_todo', args: { id: 2, status: 'done' } }] },
  'I will make green tea.',
])
const host = defineAgent({ name: 'host', model, instructions: 'You make tea.', extensions: [todos(), askUser()] })

const store = memoryStore()
const runtime = createRuntime({ agents: [host], store })
const chat = runtime.conversation('kitchen', { agent: 'host' })
const turn = await chat.send('Tea, please.')

const asked = await turn.outcome()
assert(asked.status === 'waiting')
const [item] = asked.pending
assert(item?.tool === 'ask_user')
console.log(`asks:    ${item.args.question} ${item.args.options?.map(({ value }) => value).join(' or ')}`)

// The answer is checked by a schema with the options of this question.
await assert.rejects(chat.answer(item, { choice: 'coffee' }), { code: 'invalid_answer' })
await chat.answer(item, { choice: 'green' })
const outcome = await turn.outcome()
assert(outcome.status === 'completed')
console.log(`answer:  ${outcome.text}`)

// The list is in the view, for pages, and the application may change it too.
const { todos: list } = await chat.state()
for (const { id, text, status } of list.items) console.log(`task ${id}:  ${text} (${status})`)
assert.deepEqual((await chat.view()).state, { todos: list })
await chat.setState(({ todos: { items } }) => ({ todos: { items: items.filter(({ status }) => status !== 'done') } }))
assert.equal((await chat.state()).todos.items.length, 1)

await runtime.close()
await store.close()
