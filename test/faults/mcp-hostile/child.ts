import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { defineAgent } from '../../../src/define/define-agent.ts'
import type { CallResult } from '../../../src/log/events.ts'
import type { McpTools } from '../../../src/mcp/client/mcp-tools.ts'
import { mcpTools } from '../../../src/mcp/client/mcp-tools.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { type Attack, attackText } from '../../mcp/hostile.ts'
import { childInput, dieWithParent, say } from '../harness/child-channel.ts'

export type Aimed = { readonly attack: Attack; readonly url: string | null }
export type HostileMessage = {
  readonly type: 'survived'
  readonly index: number
  readonly problems: readonly string[]
  readonly errors: number
  readonly peakMb: number
  readonly heldMs: number
}

const program = join(import.meta.dirname, '..', '..', 'mcp', 'programs', 'hostile-stdio.ts')
const options = {
  name: 'evil',
  connectTimeoutMs: 1_500,
  retry: { baseMs: 1, maxMs: 1 },
  defaults: { timeoutMs: 1_000 },
} as const

/** What calls may end with: an error of ours, with its name, and no control characters of theirs. */
const known =
  /^(The MCP server 'evil' |there is no tool 'evil__|timed out after |the tool ran, but its result |invalid arguments)[^\p{Cc}]*$/u

dieWithParent()
const { aims } = childInput<{ readonly aims: readonly Aimed[] }>()
for (const [index, aim] of aims.entries()) {
  const held = monitorEventLoopDelay({ resolution: 5 })
  held.enable()
  const { problems, errors } = await survive(aim).catch((error: unknown) => ({
    problems: [String(error)],
    errors: 0,
  }))
  const heldMs = Math.round(held.max / 1e6)
  held.disable()
  const peakMb = Math.round(process.resourceUsage().maxRSS / 1024)
  say<HostileMessage>({ type: 'survived', index, problems, errors, peakMb, heldMs })
}
process.exit(0)

/** Two turns of an agent with these tools: each ends, whatever the server does. */
async function survive({ attack, url }: Aimed): Promise<{ problems: string[]; errors: number }> {
  const tools: McpTools =
    url === null
      ? mcpTools(
          {
            command: process.execPath,
            args: ['--disable-warning=ExperimentalWarning', program],
            env: { ATTACK: attackText(attack) },
          },
          options,
        )
      : mcpTools({ url, allowPrivateAddresses: true, headers: { authorization: 'Bearer of-the-fuzzer' } }, options)
  const model = scriptedModel(({ prompt, options: call }) => {
    if (prompt.at(-1)?.role === 'tool') return 'Done.'
    const names = (call.tools ?? []).map(({ name }) => name).slice(0, 2)
    return { calls: [...names, 'evil__act'].map((tool) => ({ tool, args: { text: 'a'.repeat(40) } })) }
  })
  const store = memoryStore()
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'desk', model, toolSources: [tools] })],
    store,
  })
  const problems: string[] = []
  const chat = runtime.conversation('c', { agent: 'desk' })
  for (const message of ['one', 'two']) {
    const turn = await chat.send(message)
    let outcome = await turn.outcome()
    while (outcome.status === 'waiting') {
      for (const item of outcome.pending) {
        if (item.kind === 'approval') await chat.deny(item)
        else
          await chat
            .answer(item, { text: `${'a'.repeat(40)}!` })
            .catch(() => chat.answer(item, { declined: true }))
            .catch(() => chat.cancel())
      }
      outcome = await turn.outcome()
    }
    if (outcome.status !== 'completed' && outcome.status !== 'cancelled')
      problems.push(`${message}: the turn is ${outcome.status}`)
  }
  const log = await chat.events()
  const results = log.flatMap(({ type, content }) => (type === 'tool_result' ? [content as CallResult] : []))
  const errors = results.flatMap((result) => (result.ok ? [] : [result.error]))
  for (const error of errors) {
    if (!known.test(error) || error.length > 5_000) problems.push(`an error is ${JSON.stringify(error.slice(0, 200))}`)
  }
  const text = JSON.stringify(log)
  if (text.length > 2_000_000) problems.push(`the log has ${text.length} characters`)
  if (text.includes('of-the-fuzzer')) problems.push('a secret is in the log')
  if ('polluted' in {}) problems.push('a prototype was changed')
  const begun = performance.now()
  await runtime.close({ drainMs: 0 })
  await store.close()
  const tookMs = performance.now() - begun
  if (tookMs > 15_000) problems.push(`closing took ${Math.round(tookMs)} ms`)
  return { problems, errors: errors.length }
}
