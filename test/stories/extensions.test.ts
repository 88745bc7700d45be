import { expect, test, vi } from 'vitest'
import { formFields, readField } from '../../src/cli/chat/ask-form.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { askUser, type Question, todos } from '../../src/extensions/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

vi.setConfig({ testTimeout: 30_000 })

type Step = { readonly tool: string; readonly args: unknown }

/** An agent whose model makes these calls, one list after the other, and then says 'Done.' */
function start(story: StoryContext, ...steps: (readonly Step[])[]) {
  const model = scriptedModel(({ n }) => (steps[n - 1] ? { calls: [...steps[n - 1]!] } : 'Done.'))
  const agent = defineAgent({ name: 'helper', model, extensions: [todos(), askUser({ allowOther: true })] })
  const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'helper' })
  return { model, chat }
}

const write = (...texts: string[]): Step => ({ tool: 'write_todos', args: { texts } })
const tick = (id: number, status = 'done'): Step => ({ tool: 'tick_todo', args: { id, status } })

overStores('a list of tasks', (story) => {
  test('is written and ticked by the model, shown in the view, and in the instructions of the next call', async () => {
    const { chat, model } = start(story, [write('buy tea', 'boil water')], [tick(1)])
    expect(await (await chat.send('make tea')).outcome()).toMatchObject({ status: 'completed' })
    const items = [
      { id: 1, text: 'buy tea', status: 'done' },
      { id: 2, text: 'boil water', status: 'open' },
    ]
    expect(await chat.state()).toEqual({ todos: { items } })
    expect((await chat.view()).state).toEqual({ todos: { items } })
    expect(model.calls[2]!.prompt[0]!.content).toContain('1. [done] buy tea\n2. [open] boil water')
    checkHistory(await chat.events())
  })

  test('keeps the tasks of two calls at once, each with a number of its own', async () => {
    const { chat } = start(story, [write('tea'), write('milk')])
    await (await chat.send('go')).outcome()
    const { items } = (await chat.state()).todos
    expect(items.map(({ id }) => id)).toEqual([1, 2])
    expect(items.map(({ text }) => text).sort()).toEqual(['milk', 'tea'])
  })

  test('tells the model of a task that there is not, and of a list that is full', async () => {
    const { chat } = start(
      story,
      [tick(7)],
      [write(...Array.from({ length: 60 }, (_, n) => `t${n}`))],
      [write(...Array.from({ length: 60 }, (_, n) => `u${n}`))],
    )
    await (await chat.send('go')).outcome()
    const log = JSON.stringify(await chat.events())
    expect(log).toContain('there is no task 7')
    expect(log).toContain('there may be at most 100 tasks')
    expect((await chat.state()).todos.items).toHaveLength(60)
  })
})

const options = [{ value: 'red' }, { value: 'blue', label: 'Blue' }]

overStores('a question to the user', (story) => {
  const asked = async (question: Question) => {
    const started = start(story, [{ tool: 'ask_user', args: question }])
    const turn = await started.chat.send('go')
    return { ...started, turn, item: await onlyPendingOf(turn) }
  }

  test.each<[string, Question, object, object[]]>([
    [
      'one choice',
      { question: 'Which?', kind: 'single', options },
      { choice: 'blue' },
      [{ choice: 'green' }, { choices: ['red'] }, 'red', {}],
    ],
    [
      'several choices',
      { question: 'Which?', kind: 'multiple', options },
      { choices: ['red', 'blue'] },
      [{ choices: ['red', 'red'] }, { choices: ['green'] }],
    ],
    ['free text', { question: 'Why?', kind: 'text' }, { text: 'because' }, [{ text: '' }, { other: 'x' }]],
    [
      'another choice in own words',
      { question: 'Which?', kind: 'single', options },
      { other: 'green' },
      [{ other: 'x', choice: 'red' }],
    ],
    ['no answer', { question: 'Which?', kind: 'single', options }, { cancelled: true }, [{ cancelled: false }]],
  ] as never)('is answered with %s, and with nothing that does not fit', async (_, question, answer, wrong) => {
    const { chat, turn, item, model } = await asked(question)
    expect(item).toMatchObject({ tool: 'ask_user', kind: 'elicitation', prompt: question, args: question })
    for (const value of wrong) await expect(chat.answer(item, value)).rejects.toMatchObject({ code: 'invalid_answer' })
    await chat.answer(item, answer)
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(model.calls[1]!.prompt.at(-1)?.content).toMatchObject([{ output: { value: answer } }])
  })

  test('is a form at a terminal: one field for each way to answer', async () => {
    const { item } = await asked({ question: 'Which?', kind: 'single', options })
    const fields = formFields(item.schema)
    expect(fields.map(({ name, isRequired }) => [name, isRequired])).toEqual([
      ['choice', false],
      ['other', false],
      ['cancelled', false],
    ])
    expect(await readField(fields[0]!, '2')).toEqual({ ok: true, value: 'blue' })
    expect(await readField(fields[1]!, '')).toEqual({ ok: true, value: undefined })
  })

  test.each<[string, Question, string]>([
    ['has no options', { question: 'Which?', kind: 'single' }, "a question of kind 'single' needs 2 to 10 options"],
    [
      'repeats an option',
      { question: 'Which?', kind: 'multiple', options: [options[0]!, options[0]!] },
      'each option needs a value of its own',
    ],
  ])('that %s is not asked, and the model is told', async (_, question, told) => {
    const { chat, model } = start(story, [{ tool: 'ask_user', args: question }])
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed' })
    expect(JSON.stringify(model.calls[1]!.prompt.at(-1)?.content)).toContain(told)
  })
})
