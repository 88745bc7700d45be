import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { z } from 'zod'
import { silentLogger } from '../../../src/base/logger.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import type { LanguageModel } from '../../../src/define/language-model.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import type { Store } from '../../../src/store/store.ts'
import { projectView } from '../../../src/view/growing-view.ts'
import type { View } from '../../../src/view/view.ts'
import { checkCase, maxAttempts, type Seen } from './check-case.ts'
import { type FakeProvider, type FaultPlan, otherThan } from './fake-provider.ts'
import type { ProtocolName } from './protocols.ts'

/** Short where a stream stalls, and out of the way everywhere else. */
const stallMs = 4_000
const longMs = 60_000

/** Has one turn with a call of a tool, with a provider that fails as planned, and says what is wrong with it. */
export async function runCase(
  name: string,
  plan: FaultPlan,
  { provider, store }: { readonly provider: FakeProvider; readonly store: Store },
): Promise<{ readonly seen: Seen; readonly problems: readonly string[] }> {
  provider.plan(name, plan)
  let effects = 0
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ cents: z.literal(500) }),
    run: () => {
      effects += 1
      return 'paid'
    },
  })
  const silenceMs = plan.fault === 'stall' || plan.fault === 'silent' ? stallMs : longMs
  const agent = defineAgent({
    name: `agent-${name}`,
    model: modelOf(plan.protocol, `${provider.url}/${name}/v1`, 'fake'),
    fallbackModels: plan.hasFallback
      ? [modelOf(otherThan(plan.protocol), `${provider.url}/${name}/fallback/v1`, 'fallback')]
      : [],
    tools: [pay],
    retry: { maxAttempts, baseMs: 1, maxMs: 2 },
    timeouts: { firstChunkMs: silenceMs, betweenChunksMs: silenceMs, totalMs: longMs },
  })
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger })
  try {
    const chat = runtime.conversation(name, { agent: agent.name })
    const turn = await chat.send('Pay')
    const watching = lastView(chat.watch(), turn.turnId)
    const outcome = await turn.outcome()
    const seen = {
      plan,
      requests: provider.requests(name),
      fallbacks: provider.fallbacks(name),
      outcome,
      events: await chat.events(),
      effects,
      watched: await watching,
    }
    return { seen, problems: checkCase(seen) }
  } finally {
    await runtime.close({ drainMs: 0 })
  }
}

function modelOf(protocol: ProtocolName, baseURL: string, modelId: string): LanguageModel {
  const apiKey = 'none'
  return protocol === 'anthropic'
    ? createAnthropic({ baseURL, apiKey })(modelId)
    : createOpenAICompatible({ name: 'fake', baseURL, apiKey, includeUsage: true })(modelId)
}

/** What a watcher shows when the turn has ended. */
async function lastView(
  watched: AsyncIterable<Parameters<typeof projectView>[1]>,
  turnId: string,
): Promise<View | null> {
  let view: View | null = null
  for await (const event of watched) {
    view = event.type === 'snapshot' ? event.view : projectView(view!, event)
    if (view.log.turns.some((turn) => turn.turnId === turnId && turn.end)) return view
  }
  return view
}
