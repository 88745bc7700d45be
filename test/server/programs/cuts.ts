import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createClient, projectView, type View } from '../../../src/client/index.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import { viewOf } from '../../../src/view/view-of.ts'
import { seededRandom } from '../../faults/harness/seeded-random.ts'
import type { Finding } from '../../faults/harness/verdict.ts'
import { SequenceCheck } from './check-sequence.ts'
import { cuttingFetch } from './cutting-fetch.ts'
import { startChild } from './start-child.ts'

export type CutsOptions = {
  readonly seed: number
  readonly cuts: number
  readonly deltas: number
  readonly kills: number
}

/** Cuts the connection of a client at random bytes while a turn streams, and kills the server in between. What it shows must be the log. */
export async function cuts({ seed, cuts: wanted, deltas, kills }: CutsOptions): Promise<Finding> {
  const random = seededRandom(seed)
  const folder = mkdtempSync(join(tmpdir(), 'perdure-cuts-'))
  const input = { path: join(folder, 'agents.db'), deltas }
  let server = await startChild({ ...input, port: 0 })
  const { url, port } = server
  // About as many bytes as make the cuts spread over the whole message.
  const share = Math.ceil((deltas / wanted) * 150)
  const made = { cuts: 0, kills: 0, connections: 0 }
  const check = new SequenceCheck()
  const violations: string[] = []
  try {
    const plain = createClient({ url }).conversation('c', { agent: 'helper' })
    const { turnId } = await plain.send('Write much.')
    const client = createClient({
      url,
      fetch: cuttingFetch(() => {
        made.connections += 1
        // A snapshot must get through now and then.
        return made.cuts < wanted ? random.int(1, random.chance(0.1) ? 20 * share : share) : null
      }),
    })
    let view: View | null = null
    let killed: Promise<void> = Promise.resolve()
    const killAt = Array.from({ length: kills }, (_, n) => Math.ceil((deltas * (n + 1)) / (kills + 1)))
    const onDisconnect = (error: unknown): void => {
      if (String((error as { cause?: unknown })?.cause).includes('cut')) made.cuts += 1
    }
    const watching = client.conversation('c').watch({ backoff: { firstMs: 1, mostMs: 20 }, onDisconnect })
    for await (const watched of watching) {
      check.take(watched)
      const { event } = watched
      view = view ? projectView(view, event) : event.type === 'snapshot' ? event.view : null
      if (event.type === 'turn_completed' || (view && isOver(view, turnId))) break
      const written = view?.drafts[0]?.n ?? 0
      if (written >= (killAt[made.kills] ?? Number.POSITIVE_INFINITY)) {
        made.kills += 1
        killed = killed
          .then(() => server.kill())
          .then(async () => {
            server = await startChild({ ...input, port })
          })
      }
    }
    await killed
    const log = await allEvents(plain)
    const expected = viewOf('c', foldEvents(log))
    if (!isDeepStrictEqual(plainJson(view), plainJson(expected))) violations.push('the view is not that of the log')
    if (!isDeepStrictEqual(plainJson(await plain.view()), plainJson(expected)))
      violations.push("the server's view is not that of the log")
    const [message] = expected.messages.filter(({ role }) => role === 'assistant')
    const words = JSON.stringify(message?.parts).split(' ').length - 1
    if (words !== deltas) violations.push(`the message has ${words} words, not ${deltas}`)
  } finally {
    await server.kill()
    rmSync(folder, { recursive: true })
  }
  const notExercised = [
    ...(made.cuts < wanted ? [`${made.cuts} of ${wanted} cuts`] : []),
    ...(made.kills < kills ? [`${made.kills} of ${kills} kills`] : []),
    ...(check.counts.discarded < kills ? [`${check.counts.discarded} of ${kills} withdrawals`] : []),
  ]
  return { violations: [...violations, ...check.violations], notExercised, counts: { ...made, ...check.counts } }
}

function isOver(view: View, turnId: string): boolean {
  return view.log.turns.some((turn) => turn.turnId === turnId && turn.end !== null)
}

async function allEvents(conversation: { events(range: object): Promise<{ seq: number }[]> }) {
  const events = []
  for (let after = 0; ; ) {
    const page = await conversation.events({ after, limit: 1000 })
    if (page.length === 0) return events as never[]
    events.push(...page)
    after = page.at(-1)!.seq
  }
}

function plainJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
