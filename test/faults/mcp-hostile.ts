import { attacksOf, attackText } from '../mcp/hostile.ts'
import { serveHostile } from '../mcp/serve-hostile.ts'
import { type CommandOptions, progress, runCommand } from './harness/command.ts'
import { spawnChild } from './harness/spawn-child.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'
import type { Aimed, HostileMessage } from './mcp-hostile/child.ts'

type HostileOptions = Pick<CommandOptions, 'seed' | 'rounds'>

/** The most memory that the process with the agents may have had, and the longest it may have been held up. */
const mostMb = 600
const mostHeldMs = 20_000

async function judged({ store, seed, rounds = 300 }: CommandOptions): Promise<Verdict> {
  return judge({ program: 'mcp-hostile', store, seed }, [{ name: 'servers', find: () => mcpHostile({ seed, rounds }) }])
}

/**
 * One process with agents, and hostile MCP servers one after another, over HTTP and as processes: each kind of attack, then `rounds` that the seed draws. Every turn must
 * end, and the process must live within a bound of memory.
 */
export async function mcpHostile({ seed, rounds = 0 }: HostileOptions): Promise<Finding> {
  const server = await serveHostile()
  const aims = ['http', 'stdio'].flatMap((kind) =>
    attacksOf(seed, Math.floor(rounds / 2)).map(
      (attack): Aimed => ({ attack, url: kind === 'http' ? server.urlOf(attack) : null }),
    ),
  )
  const heard: HostileMessage[] = []
  const child = spawnChild<HostileMessage>({
    script: new URL('./mcp-hostile/child.ts', import.meta.url),
    input: { aims },
    nodeArguments: ['--max-old-space-size=256'],
    onMessage: (message) => {
      heard.push(message)
      const { attack, url } = aims[message.index]!
      progress(
        `${url ? 'http' : 'stdio'} ${attackText(attack)}: ${message.peakMb} MB, ${message.heldMs} ms ${message.problems.join()}`,
      )
    },
  })
  const end = await child.ended
  await server.close()
  const shown = ({ attack, url }: Aimed): string => `${attackText(attack)} over ${url ? 'HTTP' : 'stdio'}`
  const violations = heard.flatMap(({ index, problems }) =>
    problems.map((problem) => `${shown(aims[index]!)}: ${problem}`),
  )
  if (heard.length < aims.length)
    violations.push(`the process ended in ${shown(aims[heard.length]!)}: ${JSON.stringify(end)}`)
  const [peakMb, heldMs] = [Math.max(...heard.map((one) => one.peakMb)), Math.max(...heard.map((one) => one.heldMs))]
  if (peakMb > mostMb) violations.push(`the process had ${peakMb} MB; the limit is ${mostMb}`)
  if (heldMs > mostHeldMs) violations.push(`the process was held up for ${heldMs} ms; the limit is ${mostHeldMs}`)
  const errors = heard.reduce((sum, one) => sum + one.errors, 0)
  return { violations, counts: { servers: aims.length, errors, peakMb, heldMs } }
}

await runCommand(import.meta, judged)
