import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Agent } from '../../../src/define/agent.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineFlow } from '../../../src/define/define-flow.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import type { Tool } from '../../../src/define/tool.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'

/** Two builds of one program: the later one has an event type and two tools that the earlier one lacks. */
export type Build = 'earlier' | 'later'

/** What a message asks for, as its first word. The second is the id of its conversation, the third how long its tools take, the fourth its key. */
export const plans = [
  'say',
  'report',
  'rerun',
  'order',
  'pay',
  'ask',
  'both',
  'family',
  'later',
  'mark',
  'fail',
] as const

export type Plan = (typeof plans)[number]

/** The message that ends every process which works on it. */
export const poison = 'poison'

/** What may run at once: tight enough that people wait for each other. */
export const fleetLimits = { turnsPerTenant: 5, office: 4, press: 1 } as const

/** How many words the scribe writes. */
const words = 30

/** What the nodes' tools do to the world. */
export type World = {
  /** Must be told to the outside when it returns. `id`: of the call, or of the step. */
  readonly ran: (tool: string, id: string) => void
  /** The model was called for a person's message. */
  readonly called: (conversation: string, key: string) => void
  /** A name for one attempt at a text, which no other attempt in the fleet has. */
  readonly attempt: () => string
  /** Writes the event that the earlier build does not know. */
  readonly mark: (conversation: string, callId: string) => Promise<void>
  /** Ends the process, as code does that exhausts its memory. */
  readonly die: () => void
}

const laterTools = ['later', 'mark']

const work = z.object({ ms: z.number(), conversation: z.string() })

/** The code of a node: one agent for people, with child agents, and one flow. */
export function fleetAgents(build: Build, world: World) {
  const server = (name: string, options: Partial<Parameters<typeof defineTool>[0]>): Tool =>
    defineTool({
      name,
      description: name,
      input: work,
      ...options,
      run: async ({ ms, conversation }: z.infer<typeof work>, { callId = '' }: { callId?: string }) => {
        world.ran(name, callId)
        if (name === 'mark') await world.mark(conversation, callId)
        await sleep(ms)
        return `${name} ran`
      },
    } as Parameters<typeof defineTool>[0]) as unknown as Tool
  const report = server('report', { ifInterrupted: 'report' })
  const pay = server('pay', { ifInterrupted: 'report', approval: 'required' })
  const child = (name: string, tool: string) => agentWith({ name, tools: [report, pay], world }, () => [[tool]])
  const asking = (name: string, agent: Agent): Tool =>
    defineTool({ name, description: name, input: work, executor: 'agent', agent }) as unknown as Tool
  const tools = [
    report,
    pay,
    server('rerun', { ifInterrupted: 'rerun' }),
    server('order', { ifInterrupted: 'ask' }),
    defineTool({
      name: 'ask',
      description: 'ask',
      input: work,
      executor: 'human',
      output: z.string(),
    }) as unknown as Tool,
    asking('ask_clerk', child('clerk', 'report')),
    asking('ask_payer', child('payer', 'pay')),
  ]
  const later = [
    server('later', { ifInterrupted: 'report', approval: 'required' }),
    server('mark', { ifInterrupted: 'report' }),
  ]
  const own = build === 'later' ? [...tools, ...later] : tools
  const limits = { turns: fleetLimits.office }
  const office = agentWith({ name: 'office', tools: own, world, limits }, (plan) =>
    stepsOf(plan).map((calls) => calls.filter((tool) => build === 'later' || !laterTools.includes(tool))),
  )
  return { agents: [office, scribe(world)], flows: [errand(world)] }
}

/** The calls of each message of a turn. */
function stepsOf(plan: string): readonly (readonly string[])[] {
  if (plan === 'say' || plan === 'fail') return []
  if (plan === 'both') return [['report', 'rerun']]
  if (plan === 'family') return [['ask_clerk', 'ask_payer']]
  if (plan === 'mark') return [['mark'], ['report']]
  return [[plan]]
}

/** Makes the calls of its plan, message after message, and then says so. */
function agentWith(
  { world, ...options }: { name: string; tools: readonly Tool[]; world: World; limits?: { turns: number } },
  steps: (plan: string) => readonly (readonly string[])[],
): Agent {
  const model = scriptedModel(({ prompt }) => {
    const asked = prompt.findLastIndex(({ role }) => role === 'user')
    const [part] = prompt[asked]?.content ?? []
    const text = typeof part === 'object' && part.type === 'text' ? part.text : ''
    const [plan = '', conversation = '', ms = '50', key] = text.split(' ')
    if (key !== undefined) world.called(conversation, key)
    if (plan === 'fail') return { error: { status: 400 } }
    if (plan === poison) world.die()
    const said = prompt.slice(asked + 1).filter(({ role }) => role === 'assistant').length
    const calls = steps(plan)[said] ?? []
    if (calls.length === 0) return { text: ['Done', ' ', 'with ', plan, '.'], delayMs: 10 }
    return { calls: calls.map((tool) => ({ tool, args: { ms: Number(ms) || 50, conversation } })) }
  })
  return defineAgent({ ...options, model }) as unknown as Agent
}

/** Writes a text whose words carry the attempt and their place, so that no two texts can be taken for one. */
function scribe(world: World): Agent {
  const model = scriptedModel(() => {
    const attempt = world.attempt()
    return { text: Array.from({ length: words }, (_, n) => `${attempt}.${n} `), delayMs: 15 }
  })
  return defineAgent({ name: 'scribe', model, account: 'press' }) as unknown as Agent
}

/** A step that must not be repeated, a question, a sleep, and a message to the agent. */
function errand(world: World) {
  return defineFlow({
    name: 'errand',
    version: 1,
    run: async (flow, input) => {
      const made = await flow
        .step('make', { ifInterrupted: 'report' }, async ({ id }) => {
          world.ran('make', id)
          await sleep(50)
          return 'made'
        })
        .catch(() => 'unknown')
      const answer = await flow.suspend<string>('go on?')
      await flow.sleep(30)
      const { status, text } = await flow.agent('office', { message: `report ${String(input)} 50` })
      return { made, answer, status, text }
    },
  })
}
