/**
 * Three nodes, a load balancer and Postgres on one machine. A node dies in mid-turn, and another finishes the turn; a
 * second one drains, and the third does the work. Over the database at DATABASE_URL, or one that is removed again.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime } from 'perdure'
import { createClient } from 'perdure/client'
import { postgresStore } from 'perdure/postgres'
import { startBalancer } from './balancer.ts'
import { openDatabase } from './database.ts'
import { endNode, messageOf, startNode } from './start-node.ts'

const database = await openDatabase()
const store = postgresStore({ connectionString: database.url, max: 2 })
// The seat of the operator: it sees and steers the nodes, and runs nothing.
const runtime = createRuntime({ agents: [], store, work: false })

const processes = new Map<string, ChildProcess>()
/** Each node has an agent of its own, by which it can be told from the others. */
const nodeOf = async (name: string) => (await runtime.nodes()).find(({ agents }) => agents.includes(`only-${name}`))

async function workerOf(id: string): Promise<string> {
  for (;;) {
    const lease = (await runtime.inspect(id).work())?.lease
    const node = lease && (await runtime.nodes()).find(({ holder }) => holder === lease.holder)
    if (node) return node.agents.find((agent) => agent.startsWith('only-'))!.slice('only-'.length)
    await sleep(50)
  }
}

for (const name of ['a', 'b', 'c']) processes.set(name, startNode(name, database.url))
const ports = await Promise.all([...processes.values()].map(messageOf))
const balancer = await startBalancer(ports.map(Number))
console.log(`three nodes, one Postgres, one address: ${balancer.url}`)
const client = createClient({ url: balancer.url })

/** Sends messages at once, to one conversation each, and returns the names in the answers. */
let sent = 0
async function answerersOf(count: number): Promise<Set<string>> {
  const answers = Array.from({ length: count }, async () => {
    const chat = client.conversation(`chat-${++sent}`, { agent: 'helper' })
    const outcome = await chat.outcome((await chat.send('Hello')).turnId)
    assert(outcome.status === 'completed')
    return outcome.text
  })
  return new Set(await Promise.all(answers))
}

try {
  const seen = new Set<string>()
  while (seen.size < ports.length) for (const name of await answerersOf(ports.length)) seen.add(name)
  console.log(`messages were answered by ${[...seen].sort().join(', ')}`)

  const chat = client.conversation('story-1', { agent: 'helper' })
  const { turnId } = await chat.send('Tell me a story')
  let dead = ''
  for await (const view of chat.views()) {
    const text = view.drafts.flatMap(({ parts }) => parts.map((part) => part.text)).join('')
    if (dead === '' && text === 'Once upon a time ') {
      dead = await workerOf('story-1')
      console.log(`${dead} writes, and its provider hangs: ${text}...`)
      const others = [...processes].filter(([name]) => name !== dead).map(([, node]) => node)
      for (const node of others) node.send('the provider is well')
      await Promise.all(others.map(messageOf))
      await endNode(processes.get(dead)!, 'SIGKILL')
      console.log(`${dead} was killed in mid-turn`)
    }
    if (view.log.turns.some((turn) => turn.turnId === turnId && turn.end)) break
  }
  const outcome = await chat.outcome(turnId)
  assert(outcome.status === 'completed')
  console.log(`the same page shows: ${outcome.text}`)

  const [idle = '', busy = ''] = [...processes.keys()].filter((name) => name !== dead)
  await runtime.drain((await nodeOf(idle))!.holder, { who: 'the operator', reason: 'maintenance' })
  // It learns of it with a beat; the one after that says that it has.
  for (let beats = new Set(); beats.size < 2; await sleep(50)) {
    const { drain, seenAt } = (await nodeOf(idle))!
    if (drain && seenAt! > drain.at) beats.add(seenAt)
  }
  assert.deepEqual([...(await answerersOf(4))], [busy])
  console.log(`${idle} drains: it takes messages, and ${busy} answers all of them`)
} finally {
  balancer.close()
  await Promise.all([...processes.values()].map((node) => endNode(node, 'SIGTERM')))
  await runtime.close()
  await store.close()
  await database.stop()
}
console.log('all processes have ended')
