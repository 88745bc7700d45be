import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { freshDatabase } from '../setup/fresh-database.ts'
import { perdure, perdureJson } from './perdure.ts'
import { openWorld, type World, ways } from './world.ts'

let world: World

beforeAll(async () => {
  world = await openWorld()
  await world.say('paid', 'A refund, please')
  const view = await world.runtime.conversation('paid').view()
  await world.runtime.conversation('paid').approve(view.pending[0]!)
  await world.runtime.conversation('paid').outcome()
  await world.runtime.conversation('paid').fork({ id: 'paid-again', at: 3 })
  await world.say('open', 'A refund, please')
  await world.say('boss', 'Please delegate that')
  await world.say('letter', 'A letter, please')
  await world.say('noted', 'First.')
  await world.runtime.conversation('noted').note('rated', { stars: 5 })
  await world.say('noted', 'Second.')
  await world.say('shaped', 'A refund, please')
  const shaped = [
    { hook: 'trim', messages: 2 },
    { hook: 'careful', tools: [], settings: { temperature: 0 } },
  ]
  await world.store.putModelCall('shaped', { turnRef: 'last/0001', evictions: { seen: 1, evicted: [], shaped } })
  await world.runtime.flow('greeting', 'greet-1').start('Hi')
  await world.store.forTenant('acme').putConversation('theirs', { agent: 'support', title: 'Of another tenant' })
})

afterAll(() => world.close())

describe.each(ways)('on a %s', (way) => {
  const onIt = (...args: string[]) => [...args, ...world.ways[way]]

  test('list shows what there is, filtered and by pages', async () => {
    const [all, suspended, first] = await Promise.all([
      perdureJson(onIt('list')),
      perdure(onIt('list', '--status', 'waiting', '--agent', 'support')),
      perdureJson(onIt('list', '--limit', '2')),
    ])
    const ids = all.value.conversations.map(({ id }: { id: string }) => id)
    expect(ids).toEqual(expect.arrayContaining(['paid', 'paid-again', 'open', 'boss', 'greet-1']))
    expect(ids).not.toContain('theirs')
    expect(all.value.conversations[0]).not.toHaveProperty('settings')
    expect(suspended.stdout).toMatch(/^ID +STATUS +AGENT/)
    expect(suspended.stdout).toMatch(/open +waiting +support/)
    expect(suspended.stdout).not.toContain('paid')
    const next = await perdureJson(onIt('list', '--limit', '2', '--before', first.value.before))
    const pages = [...first.value.conversations, ...next.value.conversations].map(({ id }) => id)
    expect(pages).toEqual(ids.slice(0, 4))
  })

  test('list begins with the conversation that was created last, and its pages go on from there', async () => {
    const told = await world.store.listConversations({ limit: 100 })
    const byAge = told.toSorted((one, other) => other.createdAt - one.createdAt).map(({ id }) => id)
    const known = ['greet-1', 'shaped', 'noted', 'letter', 'boss', 'open', 'paid-again', 'paid']
    expect(byAge.filter((id) => known.includes(id))).toEqual(known)
    const [{ stdout }, { value: newest }] = await Promise.all([
      perdure(onIt('list')),
      perdureJson(onIt('list', '--limit', '1')),
    ])
    const shown = stdout
      .split('\n')
      .slice(1)
      .map((line) => line.split(' ')[0]!)
    expect(shown.filter((id) => known.includes(id))).toEqual(known)
    expect(newest.conversations.map(({ id }: { id: string }) => id)).toEqual([byAge[0]])
    const { value: rest } = await perdureJson(onIt('list', '--before', newest.before))
    expect(rest.conversations.map(({ id }: { id: string }) => id)).toEqual(byAge.slice(1))
  })

  test('show tells the whole story of a conversation', async () => {
    const [{ stdout, code }, { value }] = await Promise.all([
      perdure(onIt('show', 'paid')),
      perdureJson(onIt('show', 'paid')),
    ])
    expect(code).toBe(0)
    expect(stdout).toMatch(/support, idle, 9 events/)
    expect(stdout).toContain('thinks: They want money.')
    expect(stdout).toContain('▸ refund {"cents":500}\n  ✓ refund {"paid":500}')
    expect(stdout).toContain('All is done.')
    expect(stdout).toContain('fork paid-again at 3')
    expect(value).toMatchObject({
      id: 'paid',
      phase: 'idle',
      state: null,
      pending: [],
      forks: [{ id: 'paid-again', at: 3 }],
    })
    expect(value.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'assistant'])
  })

  test('show says what waits, and what to type on the same target', async () => {
    const { stdout } = await perdure(onIt('show', 'open'))
    expect(stdout).toContain('? refund needs approval: Pay an order back\n    arguments: {"cents":500}')
    const line = /perdure -- (approve open .*)/.exec(stdout)![1]!
    expect(line).toContain(way === 'store' ? `--store ${world.file}` : `--url ${world.url}`)
  })

  test('show and inbox say what a call will do, where its tool says so', async () => {
    const [shown, waiting] = await Promise.all([perdure(onIt('show', 'letter')), perdure(onIt('inbox'))])
    expect(shown.stdout).toContain(
      '? mail needs approval: Send it?\n    Send a letter to Ann\n    arguments: {"to":"Ann"}',
    )
    expect(waiting.stdout).toMatch(/letter +\S+ +approval .* mail: Send a letter to Ann {"to":"Ann"}/)
  })

  test('show prints the notes of a conversation where they belong', async () => {
    const [{ stdout }, { value }] = await Promise.all([
      perdure(onIt('show', 'noted')),
      perdureJson(onIt('show', 'noted')),
    ])
    expect(stdout).toMatch(/First\.[\s\S]*note rated {"stars":5} by system[\s\S]*Second\./)
    expect(value.notes).toMatchObject([{ name: 'rated', data: { stars: 5 }, who: 'system' }])
  })

  test('inbox shows what waits, with the way to a child agent', async () => {
    const [{ stdout, stderr }, { value }] = await Promise.all([perdure(onIt('inbox')), perdureJson(onIt('inbox'))])
    const child = value.items.find((item: { path: object[] }) => item.path.length === 2)
    expect(child.path[0].conversationId).toBe('boss')
    expect(stdout).toContain(`boss > ${child.conversationId}`)
    expect(stdout).toMatch(/open +\w{8} +approval/)
    const question = value.items.find((item: { kind: string }) => item.kind === 'flow')
    expect(question).toMatchObject({ flow: 'greeting', conversationId: 'greet-1', seq: 2, tag: 'name?' })
    expect(stdout).toMatch(/greet-1 +seq 2 +flow .*greeting "name\?"/)
    expect(stderr).toContain("flows resume greeting greet-1 '{}' --seq 2")
  })

  test('flows lists sessions and shows one', async () => {
    const [{ value }, waiting, done, shown, none] = await Promise.all([
      perdureJson(onIt('flows', '--flow', 'greeting')),
      perdure(onIt('flows', '--status', 'waiting')),
      perdureJson(onIt('flows', '--status', 'done')),
      perdure(onIt('flows', 'show', 'greeting', 'greet-1')),
      perdure(onIt('flows', 'show', 'greeting', 'greet-2')),
    ])
    expect(value.sessions).toMatchObject([{ id: 'greet-1', flow: 'greeting', status: 'waiting' }])
    expect(waiting.stdout).toMatch(/greet-1 +greeting +waiting +2 /)
    expect(done.value.sessions).toEqual([])
    expect(shown.stdout).toMatch(/greet-1 {2}greeting version 1, waiting\n {2}input "Hi"\n {2}waits "name\?"/)
    expect(none).toMatchObject({ code: 3, stdout: '' })
  })

  test('explain tells how each event was in the prompt of a model call', async () => {
    const [{ stdout }, calls, { value }] = await Promise.all([
      perdure(onIt('explain', 'paid')),
      perdureJson(onIt('explain', 'paid', '--calls')),
      perdureJson(onIt('explain', 'paid')),
    ])
    expect(stdout).toMatch(/1 +user_msg +verbatim +its turn is in the window +A refund, please/)
    expect(stdout).toMatch(/8 +assistant_msg +not_shown +it came after this call/)
    expect(calls.value.modelCalls).toHaveLength(2)
    expect(value.turnRef).toBe(calls.value.modelCalls[1].turnRef)
    expect(value.explanations).toHaveLength(9)
  })

  test('explain tells which hook changed what of a model call', async () => {
    const [{ stdout }, { value }] = await Promise.all([
      perdure(onIt('explain', 'shaped', '--call', 'last/0001')),
      perdureJson(onIt('explain', 'shaped', '--call', 'last/0001')),
    ])
    expect(stdout).toContain("the hook 'trim' gave 2 messages\n")
    expect(stdout).toContain(`the hook 'careful' left no tools, made the settings {"temperature":0}\n`)
    expect(stdout).toMatch(/1 +user_msg +shaped +the hook 'trim' decided/)
    expect(value.shaped.map(({ hook }: { hook: string }) => hook)).toEqual(['trim', 'careful'])
  })

  test('what does not exist is told with exit code 3', async () => {
    const [shown, tailed, explained] = await Promise.all([
      perdure(onIt('show', 'nobody', '--json')),
      perdure(onIt('tail', 'nobody')),
      perdure(onIt('explain', 'paid-again')),
    ])
    expect(shown).toMatchObject({ code: 3, stdout: '' })
    expect(JSON.parse(shown.stderr).error).toMatchObject({ code: 'conversation_not_found', exitCode: 3 })
    expect(tailed).toMatchObject({ code: 3, stdout: '' })
    expect(explained.code).toBe(3)
    expect(explained.stderr).toContain("Set audit: 'records'")
  })
})

test('a Postgres store is looked at as any other', async () => {
  const connectionString = await freshDatabase(inject('postgresUrl'))
  const store = postgresStore({ connectionString })
  await store.putConversation('ticket-1', { agent: 'support', title: 'On Postgres' })
  await store.close()
  const { code, stdout } = await perdure(['list', '--store', connectionString])
  expect(code).toBe(0)
  expect(stdout).toMatch(/ticket-1 +idle +support +1 +.*On Postgres/)
})

test('a tenant of a store is named', async () => {
  const { value } = await perdureJson(['list', '--store', world.file, '--tenant', 'acme'])
  expect(value.conversations.map(({ id }: { id: string }) => id)).toEqual(['theirs'])
})

test('show says that an answer was cut off at its length, and explain what the provider warned of', async () => {
  await world.say('cut-short', 'Tell me at length')
  const onIt = (...args: string[]) => [...args, ...world.ways.store]
  const [shown, explained, { value }] = await Promise.all([
    perdure(onIt('show', 'cut-short')),
    perdure(onIt('explain', 'cut-short')),
    perdureJson(onIt('explain', 'cut-short')),
  ])
  expect(shown.stdout).toMatch(/support .*\(cut off at its length limit\)\n +Once upon a/)
  expect(explained.stdout).toContain('the provider warned: other: temperature is not supported')
  expect(value.warnings).toEqual(['other: temperature is not supported'])
})
