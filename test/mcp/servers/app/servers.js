import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, defineAgent, memoryStore } from 'perdure'
import { mcpTools } from 'perdure/mcp'
import { scriptedModel } from 'perdure/testing'

const folder = mkdtempSync(join(tmpdir(), 'perdure-mcp-servers-'))
const officialServer = (name, ...args) => ({
  command: process.execPath,
  args: [join('node_modules', '@modelcontextprotocol', `server-${name}`, 'dist', 'index.js'), ...args],
})

/** What calls of a server's tools end with; `approved`: those that waited for a person. */
async function calling(source, calls) {
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? 'Done.'
      : { calls: calls.map(([tool, args]) => ({ tool: `${source.name}__${tool}`, args })) },
  )
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'desk', model, toolSources: [source] })],
    store: memoryStore(),
  })
  const chat = runtime.conversation('c', { agent: 'desk' })
  const turn = await chat.send('Go on.')
  const approved = []
  let outcome = await turn.outcome()
  while (outcome.status === 'waiting') {
    for (const item of outcome.pending) {
      approved.push(item.tool)
      await chat.approve(item)
    }
    outcome = await turn.outcome()
  }
  assert.equal(outcome.status, 'completed')
  const log = await chat.events()
  const callIds = log.flatMap(({ type, content }) => (type === 'tool_call' ? [content.callId] : []))
  const results = new Map(
    log.flatMap(({ type, content }) => (type === 'tool_result' ? [[content.callId, content]] : [])),
  )
  await runtime.close()
  return { results: callIds.map((callId) => results.get(callId)), approved }
}

async function everything() {
  const source = mcpTools(officialServer('everything', 'stdio'), { name: 'every', defaults: { approval: 'auto' } })
  const { results } = await calling(source, [
    ['echo', { message: 'hi' }],
    ['get-sum', { a: 1, b: 2 }],
    ['get-structured-content', { location: 'New York' }],
    ['get-tiny-image', {}],
    ['get-resource-links', { count: 2 }],
    ['trigger-long-running-operation', { duration: 1, steps: 2 }],
  ])
  const [echo, sum, weather, image, links, long] = results
  assert.equal(echo.result, 'Echo: hi')
  assert.match(sum.result, /is 3/)
  assert.equal(typeof weather.result.temperature, 'number')
  assert.ok(image.result.some(({ type, mediaType }) => type === 'image' && mediaType === 'image/png'))
  assert.equal(links.result.filter(({ type }) => type === 'link').length, 2)
  assert.match(long.result, /completed/)
  return results.length
}

async function filesystem() {
  writeFileSync(join(folder, 'a.txt'), 'hello')
  const path = join(folder, 'b.txt')
  const source = mcpTools(officialServer('filesystem', folder), { name: 'files' })
  const { results, approved } = await calling(source, [
    ['read_text_file', { path: join(folder, 'a.txt') }],
    ['list_directory', { path: '/etc' }],
    ['write_file', { path, content: 'written' }],
  ])
  const [read, denied, written] = results
  assert.deepEqual(read.result, { content: 'hello' })
  assert.match(denied.error, /Access denied/)
  assert.ok(written.ok)
  assert.deepEqual(approved, ['files__write_file'])
  assert.equal(readFileSync(path, 'utf8'), 'written')
  return results.length
}

async function memory() {
  const env = { MEMORY_FILE_PATH: join(folder, 'memory.json') }
  const entities = [{ name: 'Ann', entityType: 'person', observations: ['likes tea'] }]
  const source = mcpTools({ ...officialServer('memory'), env }, { name: 'mem', defaults: { approval: 'auto' } })
  const { results } = await calling(source, [['create_entities', { entities }]])
  const again = await calling(source, [['read_graph', {}]])
  assert.deepEqual(results[0].result.entities, entities)
  assert.deepEqual(again.results[0].result.entities, entities)
  return 2
}

try {
  for (const [name, use] of Object.entries({ everything, filesystem, memory })) {
    const calls = await use()
    console.log(`@modelcontextprotocol/server-${name}: ${calls} calls as expected`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
