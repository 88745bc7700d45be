import { mkdirSync, writeFileSync } from 'node:fs'
import { seededRandom } from '../test/faults/harness/seeded-random.ts'
import { type Child, spawnChild } from '../test/faults/harness/spawn-child.ts'
import type { Target } from '../test/faults/harness/target.ts'
import { withTarget } from '../test/faults/harness/with-target.ts'
import type { ServingInput, ServingMessage } from '../test/live/serving-node.ts'
import { firstTextElsewhere, type Nodes, resumedElsewhere } from '../test/live/text-across-nodes.ts'

/** How much later first text may come at another node: the 99th percentile. */
const mostMs = 100

/**
 * Two processes on one Postgres. How much later the first text of a message comes at the node that does not write it, and whether text vanishes for readers who change
 * nodes in mid-message. Fails when it does, or when the limit is exceeded.
 */
export async function benchLiveText(args: readonly string[]): Promise<void> {
  const after = (option: string) => (args.includes(option) ? args[args.indexOf(option) + 1] : undefined)
  const isQuick = args.includes('--quick')
  const seed = Number(after('--seed') ?? 19)
  const [messages, resumes] = isQuick ? [20, 40] : [200, 200]
  await withTarget({ store: 'postgres' }, async (target) => {
    const nodes = await Promise.all([startNode(target, 'a'), startNode(target, 'b')])
    try {
      const urls = nodes.map(({ url }) => url) as unknown as Nodes
      const figures = { seed, messages, ...(await firstTexts(urls, messages)), ...(await resumed(urls, resumes, seed)) }
      console.log(JSON.stringify(figures))
      if (figures.p99Ms > mostMs)
        throw new Error(`first text comes ${figures.p99Ms} ms later, and ${mostMs} are allowed`)
      if (isQuick) return
      mkdirSync(new URL('results', import.meta.url), { recursive: true })
      writeFileSync(new URL('results/live-text.json', import.meta.url), `${JSON.stringify(figures, null, 2)}\n`)
    } finally {
      for (const { child } of nodes) child.kill()
      await Promise.all(nodes.map(({ child }) => child.ended))
    }
  })
}

async function startNode(target: Target, name: string): Promise<{ readonly child: Child; readonly url: string }> {
  const serving = Promise.withResolvers<string>()
  const child = spawnChild<ServingMessage>({
    script: new URL('../test/live/serving-node.ts', import.meta.url),
    input: { target, name, delayMs: 15 } satisfies ServingInput,
    onMessage: ({ url }) => serving.resolve(url),
  })
  void child.ended.then(({ complaint }) => serving.reject(new Error(complaint)))
  return { child, url: await serving.promise }
}

/** Several messages at a time, so that some are written while others begin. */
async function firstTexts(nodes: Nodes, count: number) {
  const delays: number[] = []
  const lane = async (): Promise<void> => {
    while (delays.length < count) delays.push(await firstTextElsewhere(nodes))
  }
  await Promise.all([lane(), lane(), lane(), lane()])
  delays.sort((left, right) => left - right)
  const at = (share: number): number => Math.round(delays[Math.ceil(delays.length * share) - 1]! * 10) / 10
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

async function resumed(nodes: Nodes, count: number, seed: number) {
  const random = seededRandom(seed)
  let resumes = 0
  const lane = async (): Promise<void> => {
    while (resumes < count) resumes += await resumedElsewhere(nodes, random)
  }
  await Promise.all([lane(), lane(), lane()])
  return { resumes, vanished: 0 }
}
