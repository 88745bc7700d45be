import { z } from 'zod'
import { silentLogger } from '../../../src/base/logger.ts'
import type { Agent } from '../../../src/define/agent.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import type { Store } from '../../../src/store/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'

export const stories = ['finish', 'cancel'] as const

export type Story = (typeof stories)[number]

type LifeOptions = {
  readonly store: Store
  readonly leaseMs: number
  /** False: it takes messages and answers and runs nothing. Default: true. */
  readonly work?: boolean
  /** Called by the tools; must be on disk when it returns. */
  readonly effect: (callId: string) => void
  readonly problem: (problem: string) => void
}

/** A parent that calls a clerk and a payer at once: both act, the payer after an approval. */
export function startFamily({ store, leaseMs, work = true, effect, problem }: LifeOptions) {
  const act = (name: string, approval: 'auto' | 'required') =>
    defineTool({
      name,
      description: 'Act',
      input: z.object({}),
      approval,
      // The call id makes it safe to repeat.
      ifInterrupted: 'rerun',
      run: (_, turn) => {
        effect(turn.callId!)
        return { acted: true }
      },
    })
  const clerk = thenDone('clerk', 'Filed.', [act('file', 'auto'), act('sign', 'required')], ['file'])
  const payer = thenDone('payer', 'Paid.', [act('pay', 'required')], ['pay'])
  const signer = thenDone('signer', 'Signed.', clerk.tools, ['sign'])
  const agents = [
    thenDone('finish', 'Done.', [call('ask_clerk', clerk), call('ask_payer', payer)], ['ask_clerk', 'ask_payer']),
    thenDone('cancel', 'Done.', [call('ask_signer', signer), call('ask_payer', payer)], ['ask_signer', 'ask_payer']),
  ]
  const logger = { ...silentLogger, error: (message: string) => problem(`an error was logged: ${message}`) }
  return createRuntime({ agents, store, leaseMs, pollMs: 20, work, logger }) as ReturnType<typeof createRuntime>
}

/** Tells both stories to their end, from wherever they stand. */
export async function play(runtime: ReturnType<typeof startFamily>, prefix: string): Promise<void> {
  await Promise.all(stories.map((story) => playOne(runtime, prefix, story)))
}

async function playOne(runtime: ReturnType<typeof startFamily>, prefix: string, story: Story): Promise<void> {
  const chat = runtime.conversation(`${prefix}${story}`, { agent: story })
  const turn = await chat.send('go', { key: 'go' })
  for (;;) {
    const outcome = await turn.outcome()
    if (outcome.status !== 'waiting') return
    if (story === 'cancel') await chat.cancel()
    else
      for (const pending of outcome.pending) {
        await chat.note('asked', pending.tool)
        await chat.extendDeadline(pending, { expiresInMs: 3_600_000 })
        await chat.approve(pending)
      }
  }
}

type Tools = Parameters<typeof defineAgent>[0]['tools']

/** Makes its calls, and when it has their results it says so. */
function thenDone(name: string, text: string, tools: NonNullable<Tools>, wanted: readonly string[]): Agent {
  const calls = wanted.map((tool) => ({ tool, args: {} }))
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? { text: [text.slice(0, 2), text.slice(2)] } : { calls },
  )
  return defineAgent({ name, model, tools }) as Agent
}

function call(name: string, agent: Agent) {
  return defineTool({ name, description: 'Ask', input: z.object({}), executor: 'agent', agent })
}
