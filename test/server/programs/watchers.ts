import { silentLogger } from '../../../src/base/logger.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { serve } from '../../../src/server/index.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Finding } from '../../faults/harness/verdict.ts'
import { connect } from '../sse-connection.ts'

/** Many watch one conversation: each gets every delta, and each delta is written out once. */
export async function watchers({ count, deltas }: { count: number; deltas: number }): Promise<Finding> {
  let isOpen = (): void => {}
  const opened = new Promise<void>((resolve) => {
    isOpen = resolve
  })
  const text = Array.from({ length: deltas }, (_, n) => `word${n} `)
  const model = scriptedModel(() => ({ text, delayMs: 1 }))
  const doStream = model.doStream.bind(model)
  model.doStream = async (options) => {
    await opened
    return doStream(options)
  }
  const store = memoryStore({ logger: silentLogger })
  const runtime = createRuntime({ agents: [defineAgent({ name: 'helper', model })], store, logger: silentLogger })
  const server = await serve(runtime, { port: 0, logger: silentLogger })
  const stringify = JSON.stringify
  let written = 0
  try {
    await runtime.conversation('c', { agent: 'helper' }).send('Go')
    const pages = await Promise.all(Array.from({ length: count }, () => connect(`${server.url}/conversations/c/live`)))
    JSON.stringify = ((...args: Parameters<typeof stringify>) => {
      if ((args[0] as { type?: string } | null)?.type === 'text_delta') written += 1
      return stringify(...args)
    }) as typeof stringify
    isOpen()
    const received = await Promise.all(
      pages.map(async (page) => {
        const seen = await page.until(({ type }) => type === 'turn_completed')
        page.cut()
        return seen.filter(({ event }) => event.type === 'text_delta').length
      }),
    )
    const short = received.filter((got) => got !== deltas).length
    return {
      violations: [
        ...(short > 0 ? [`${short} watchers did not get every delta`] : []),
        ...(written !== deltas ? [`${deltas} deltas were written out ${written} times`] : []),
      ],
      counts: { watchers: count, deltas, written },
    }
  } finally {
    JSON.stringify = stringify
    await server.close({ drainMs: 0 })
    await runtime.close({ drainMs: 0 })
    await store.close()
  }
}
