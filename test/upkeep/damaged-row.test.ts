import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createHandler } from '../../src/server/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import type { Finding } from '../../src/upkeep/finding.ts'
import { perdure, perdureJson } from '../cli/perdure.ts'
import { overStores } from '../stories/over-stores.ts'
import { damageRow } from './damage-row.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-damaged-row-'))
afterAll(() => rmSync(folder, { recursive: true }))

const columns = ['settings', 'fsmState', 'title', 'parent'] as const

overStores('a conversation whose row is damaged', ({ openStore, start }) => {
  test.each(columns)('is listed with the others, and says that its %s is', async (column) => {
    const store = openStore()
    for (const id of ['a', 'b', 'c']) await store.putConversation(id, { agent: 'helper', title: `Title of ${id}` })
    const whole = await store.getConversation('b')
    await damageRow(store, 'b', { [column]: '{"half' })
    const empty = { settings: {}, fsmState: null, title: null, parent: null }[column]
    const damaged = { ...whole, [column]: empty, unreadable: [column] }
    const listed = await store.listConversations()
    expect(listed.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c'])
    expect(listed.find(({ id }) => id === 'b')).toEqual({ ...damaged, waiting: 0 })
    expect(listed.filter(({ id }) => id !== 'b').every((record) => !('unreadable' in record))).toBe(true)
    await expect(store.getConversation('b')).rejects.toMatchObject({
      code: 'conversation_unreadable',
      columns: [column],
      message: expect.stringMatching(new RegExp(`'b' is damaged: '${column}' cannot be read\\. Run perdure doctor`)),
    })
    const runtime = start({ agents: [], store })
    expect((await runtime.conversations()).map(({ id, problem }) => [id, problem?.code]).sort()).toEqual([
      ['a', undefined],
      ['b', 'conversation_unreadable'],
      ['c', undefined],
    ])
  })

  test('takes no settings beside those that are, and nothing else of such a change', async () => {
    const store = openStore()
    for (const id of ['a', 'b']) await store.appendEvent(id, { type: 'titled', content: { title: 'T' } })
    await damageRow(store, 'b', { settings: '{"half' })
    const event = { type: 'titled' as const, content: { title: 'U' } }
    const change = { events: [event], key: 'k', conversation: { settings: { colour: 'red' } } }
    const [refused, beside] = await Promise.allSettled([store.commit('b', change), store.commit('a', change)])
    expect(refused).toMatchObject({ reason: { code: 'conversation_unreadable', columns: ['settings'] } })
    expect(beside).toMatchObject({ value: { ok: true, seq: 2 } })
    expect(await store.streamEvents('b')).toHaveLength(1)
    expect(await store.commit('b', { events: [event], key: 'k' })).toMatchObject({ ok: true, seq: 2 })
  })

  test('is found by the doctor whichever column it is, and deleted by those who want it gone', async () => {
    const store = openStore()
    for (const column of columns) {
      await store.putConversation(column, { title: 'Given by hand' })
      await damageRow(store, column, { [column]: '{"half' })
    }
    expect((await findings(store)).map(({ code, conversation }) => [conversation, code]).sort()).toEqual([
      ['fsmState', 'fsm_state_differs'],
      ['parent', 'row_unreadable'],
      ['settings', 'row_unreadable'],
      ['title', 'title_differs'],
    ])
    const runtime = start({ agents: [], store })
    for (const column of columns) expect(await runtime.conversation(column).delete()).toBe(true)
    expect(await store.listConversations()).toEqual([])
  })

  test('keeps nothing from the inbox, nor do the rows of its child agents', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'Ask',
      input: { type: 'object' },
      output: { type: 'string' },
      executor: 'human',
    })
    const asking = (name: string) =>
      defineAgent({ name, model: scriptedModel({ calls: [{ tool: 'ask', args: {} }] }), tools: [ask] })
    const hire = defineTool({
      name: 'hire',
      description: 'Hire',
      input: { type: 'object', properties: { task: { type: 'string' } } },
      executor: 'agent',
      agent: asking('child'),
    })
    const boss = defineAgent({
      name: 'boss',
      model: scriptedModel({ calls: [{ tool: 'hire', args: { task: 'it' } }] }),
      tools: [hire],
    })
    const { store, ...runtime } = start({ agents: [asking('clerk'), boss, hire.agent] })
    await (await runtime.conversation('one', { agent: 'clerk' }).send('Hi')).outcome()
    await (await runtime.conversation('two', { agent: 'clerk' }).send('Hi')).outcome()
    await (await runtime.conversation('family', { agent: 'boss' }).send('Hi')).outcome()
    const before = await runtime.inbox()
    expect(before.map(({ path }) => path[0]!.conversationId).sort()).toEqual(['family', 'one', 'two'])
    await runtime.close()
    const child = before.find(({ path }) => path.length > 1)!.conversationId
    for (const id of ['one', child]) await damageRow(store, id, { title: '{"half' })
    const again = start({ agents: [], store, work: false })
    expect((await again.inbox()).map(({ path }) => path)).toEqual(before.map(({ path }) => path))
    expect(await again.conversation(child).delete()).toBe(true)
    expect((await again.inbox()).map(({ conversationId }) => conversationId).sort()).toEqual(['one', 'two'])
  })
})

test('a damaged row is logged once, with what to do, however often it is listed', async () => {
  const told: unknown[] = []
  const store = memoryStore({ logger: { ...silentLogger, error: (...line) => void told.push(line) } })
  for (const id of ['a', 'b']) await store.putConversation(id, { title: 'T' })
  await damageRow(store, 'a', { title: 'x', settings: 'x' })
  for (let n = 0; n < 3; n++) await store.listConversations()
  expect(told).toEqual([
    [
      'the row of a conversation is damaged; run perdure doctor',
      { tenant: 'default', id: 'a', columns: ['settings', 'title'] },
    ],
  ])
  await store.close()
})

test('a server lists a damaged conversation, answers for it with its code, and deletes it', async () => {
  const store = memoryStore({ logger: silentLogger })
  const runtime = createRuntime({ agents: [], store, work: false, logger: silentLogger })
  const handler = createHandler(runtime, { authenticate: () => createScope({ user: 'ada' }), logger: silentLogger })
  const ask = (method: string, path: string) => handler(new Request(`http://localhost${path}`, { method }))
  for (const id of ['a', 'b']) await store.putConversation(id, { title: 'T' })
  await damageRow(store, 'a', { title: 'x' })
  const list = (await (await ask('GET', '/conversations')).json()) as { conversations: { id: string }[] }
  expect(list.conversations).toHaveLength(2)
  expect(list.conversations.find(({ id }) => id === 'a')).toMatchObject({
    title: null,
    unreadable: ['title'],
    problem: { code: 'conversation_unreadable' },
  })
  const one = await ask('GET', '/conversations/a')
  expect([one.status, await one.json()]).toMatchObject([
    500,
    { code: 'conversation_unreadable', detail: expect.stringContaining('perdure doctor') },
  ])
  expect((await ask('DELETE', '/conversations/a')).status).toBe(204)
  expect((await ask('DELETE', '/conversations/a')).status).toBe(404)
  await runtime.close()
  await store.close()
})

test('the command list shows a damaged conversation, and which line to type', async () => {
  const path = join(folder, 'listed.db')
  const store = sqliteStore({ path, logger: silentLogger })
  for (const id of ['a', 'b']) await store.putConversation(id, { title: 'T' })
  await damageRow(store, 'a', { title: 'x' })
  await store.close()
  const { code, stdout, stderr } = await perdure(['list', '--store', path])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^a .*\n/m)
  expect(stdout).toMatch(/^b .*T\s*$/m)
  expect(stderr).toMatch(/^'a' is damaged: its title cannot be read\. Run: .*doctor --store .*listed\.db$/m)
  const { value } = await perdureJson(['list', '--store', path])
  expect(value).toMatchObject({ conversations: [{ id: 'b' }, { id: 'a', unreadable: ['title'] }] })
})

async function findings(store: Store): Promise<Finding[]> {
  const found: Finding[] = []
  await examineStore(store, { onFinding: (finding) => void found.push(finding) })
  return found
}
