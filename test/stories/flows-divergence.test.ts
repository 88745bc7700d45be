import { afterEach, expect, test } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import type { FlowVerbs } from '../../src/define/flow-verbs.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { until } from './until.ts'

type Code = (flow: FlowVerbs) => Promise<unknown>

type Divergence = {
  readonly name: string
  readonly recorded: Code
  readonly changed: Code
  /** Given in turn before the code changes; with a tag where several wait. */
  readonly answers?: readonly (Json | { readonly tag: Json; readonly value: Json })[]
  readonly at: number
  readonly hasEnded?: true
}

const ok = () => 'ok'
let outside = 0
afterEach(() => {
  outside = 0
})

const divergences: readonly Divergence[] = [
  {
    name: 'two steps in another order',
    recorded: async (flow) => [await flow.step('a', ok), await flow.step('b', ok), await flow.suspend('wait')],
    changed: async (flow) => [await flow.step('b', ok), await flow.step('a', ok), await flow.suspend('wait')],
    at: 1,
  },
  {
    name: 'a step with another name',
    recorded: async (flow) => [await flow.step('charge', ok), await flow.suspend('wait')],
    changed: async (flow) => [await flow.step('bill', ok), await flow.suspend('wait')],
    at: 1,
  },
  {
    name: 'a step added before the others',
    recorded: async (flow) => [await flow.step('a', ok), await flow.suspend('wait')],
    changed: async (flow) => [await flow.step('new', ok), await flow.step('a', ok), await flow.suspend('wait')],
    at: 1,
  },
  {
    name: 'a step added between two others',
    recorded: async (flow) => [await flow.step('a', ok), await flow.suspend('wait')],
    changed: async (flow) => [await flow.step('a', ok), await flow.step('new', ok), await flow.suspend('wait')],
    at: 2,
  },
  {
    name: 'a step added beside what waits',
    recorded: async (flow) => [await flow.step('a', ok), await flow.suspend('wait')],
    changed: async (flow) => [
      await flow.step('a', ok),
      await Promise.all([flow.suspend('wait'), flow.step('new', ok)]),
    ],
    at: 3,
  },
  {
    name: 'a step removed',
    recorded: async (flow) => [await flow.step('a', ok), await flow.step('b', ok), await flow.suspend('wait')],
    changed: async (flow) => [await flow.step('b', ok), await flow.suspend('wait')],
    at: 1,
  },
  {
    name: 'the last step before the wait removed',
    recorded: async (flow) => [await flow.step('a', ok), await flow.step('b', ok), await flow.suspend('wait')],
    changed: async (flow) => [await flow.step('a', ok), await flow.suspend('wait')],
    at: 2,
  },
  {
    name: 'what waits beside another removed',
    recorded: (flow) => Promise.all([flow.suspend('wait'), flow.suspend('also')]),
    changed: (flow) => Promise.all([flow.suspend('wait')]),
    at: 2,
  },
  {
    name: 'another tag',
    recorded: (flow) => flow.suspend({ ask: 'manager', amount: 5 }),
    changed: (flow) => flow.suspend({ ask: 'director', amount: 5 }),
    at: 1,
  },
  {
    name: 'another payload',
    recorded: (flow) => flow.request('mail', { to: 'ann' }),
    changed: (flow) => flow.request('mail', { to: 'bob' }),
    at: 1,
  },
  {
    name: 'another kind of request',
    recorded: (flow) => flow.request('mail', 1),
    changed: (flow) => flow.request('letter', 1),
    at: 1,
  },
  {
    name: 'another declared input',
    recorded: async (flow) => [await flow.step('charge', { input: { cents: 100 } }, ok), await flow.suspend('wait')],
    changed: async (flow) => [await flow.step('charge', { input: { cents: 1000 } }, ok), await flow.suspend('wait')],
    at: 1,
  },
  {
    name: 'a suspension that became a request',
    recorded: (flow) => flow.suspend('book'),
    changed: (flow) => flow.request('book'),
    at: 1,
  },
  {
    name: 'another time to sleep',
    recorded: (flow) => Promise.race([flow.sleep(86_400_000), flow.suspend('wait')]),
    changed: (flow) => Promise.race([flow.sleep(3_600_000), flow.suspend('wait')]),
    at: 1,
  },
  {
    name: 'the time where chance was asked for',
    recorded: async (flow) => [await flow.random(), await flow.suspend('wait')],
    changed: async (flow) => [await flow.now(), await flow.suspend('wait')],
    at: 1,
  },
  {
    name: 'another message to an agent',
    recorded: async (flow) => [await flow.agent('editor', { message: 'Hello' }), await flow.suspend('wait')],
    changed: async (flow) => [await flow.agent('editor', { message: 'Good day' }), await flow.suspend('wait')],
    at: 1,
  },
  {
    name: 'steps that ran side by side and now run one after the other',
    recorded: async (flow) => [await Promise.all([flow.step('a', ok), flow.step('b', ok)]), await flow.suspend('wait')],
    changed: async (flow) => [await flow.step('a', ok), await flow.step('b', ok), await flow.suspend('wait')],
    at: 2,
  },
  {
    name: 'steps that ran one after the other and now run side by side',
    recorded: async (flow) => [await flow.step('a', ok), await flow.step('b', ok), await flow.suspend('wait')],
    changed: async (flow) => [await Promise.all([flow.step('a', ok), flow.step('b', ok)]), await flow.suspend('wait')],
    at: 2,
  },
  {
    name: 'a race of two suspensions that asks for them in another order',
    recorded: async (flow) => [
      await Promise.race([flow.suspend('left'), flow.suspend('right')]),
      await flow.suspend('x'),
    ],
    changed: async (flow) => [
      await Promise.race([flow.suspend('right'), flow.suspend('left')]),
      await flow.suspend('x'),
    ],
    answers: [{ tag: 'right', value: 1 }],
    at: 1,
  },
  {
    name: 'a race of two suspensions whose other side now wins',
    recorded: async (flow) => {
      const [winner] = await Promise.race([
        flow.suspend('left').then((value) => ['left', value]),
        flow.suspend('right').then((value) => ['right', value]),
      ])
      return flow.suspend(`after ${winner}`)
    },
    changed: async (flow) => {
      const sides = [flow.suspend('left'), flow.suspend('right')] as const
      await sides[0]
      return flow.suspend('after left')
    },
    answers: [{ tag: 'right', value: 1 }],
    at: 3,
  },
  {
    name: 'a flow that ends where it went on',
    recorded: async (flow) => [await flow.step('a', ok), await flow.suspend('wait')],
    changed: async (flow) => flow.step('a', ok),
    at: 2,
  },
  {
    name: 'a flow that ends although something it asked for waits',
    recorded: async (flow) => {
      const answer = flow.suspend('wait')
      return [await flow.step('a', ok), await answer]
    },
    changed: async (flow) => {
      void flow.suspend('wait')
      return flow.step('a', ok)
    },
    at: 1,
    hasEnded: true,
  },
  {
    name: 'a flow that throws where it went on',
    recorded: async (flow) => [await flow.step('a', ok), await flow.suspend('wait')],
    changed: async (flow) => {
      await flow.step('a', ok)
      throw new Error('no longer possible')
    },
    at: 2,
  },
  {
    name: 'a flow that no longer catches what it caught',
    recorded: async (flow) => {
      await flow.step('a', () => Promise.reject(new Error('broken'))).catch(() => {})
      return flow.suspend('wait')
    },
    changed: async (flow) => {
      await flow.step('a', () => Promise.reject(new Error('broken')))
      return flow.suspend('wait')
    },
    at: 2,
  },
  {
    name: 'a flow that begins again where it went on',
    recorded: async (flow) => [await flow.step('a', ok), await flow.suspend('wait')],
    changed: async (flow) => {
      await flow.step('a', ok)
      return flow.continueAs(null)
    },
    at: 2,
  },
  {
    name: 'a branch taken on something that is not recorded',
    recorded: (flow) => branching(flow),
    changed: (flow) => {
      outside = 1
      return branching(flow)
    },
    at: 2,
  },
]

async function branching(flow: FlowVerbs): Promise<unknown> {
  await flow.step('a', ok)
  return flow.suspend(outside === 0 ? 'wait' : 'wait longer')
}

/** Records with one code, and then has another one registered in its place. */
async function planted(story: StoryContext, { recorded, changed, answers = [] }: Divergence) {
  const agents = [defineAgent({ name: 'editor', model: scriptedModel(() => 'Hello.') })]
  const attributes = { name: 'planted', version: 1 }
  const before = defineFlow({ ...attributes, run: recorded })
  const after = defineFlow({ ...attributes, run: changed })
  const store = story.openStore()
  const first = story.start({ agents, flows: [before], store, pollMs: 20 })
  const standing = await first.flow(before, 's1').start(null)
  expect(standing.status).toBe('waiting')
  for (const answer of answers) {
    const { tag, value } = answer as { tag: Json; value: Json }
    await first.flow(before, 's1').resume(value, { tag })
  }
  await first.close()
  const second = story.start({ agents, flows: [after], store, pollMs: 20 })
  return { session: second.flow(after, 's1'), store, close: () => second.close(), original: before, agents }
}

overStores('code that differs from its record', (story) => {
  test.each(divergences)('$name is caught before anything is written', async (divergence) => {
    const { session, store, close, original, agents } = await planted(story, divergence)
    const log = await store.streamEvents('s1')
    const record = await store.getConversation('s1')
    const difference = { code: 'flow_diverged', name: 'DeterminismError', position: divergence.at }
    await expect(session.resume('answer')).rejects.toMatchObject(difference)
    expect(await store.streamEvents('s1')).toEqual(log)
    expect(await store.getConversation('s1')).toEqual(record)
    // Where the code has ended there is nothing to hold it against: its end is what a node would write.
    if (divergence.hasEnded) return
    await expect(session.continue()).rejects.toMatchObject(difference)
    expect(await store.streamEvents('s1')).toEqual(log)

    await close()
    outside = 0
    const restored = story.start({ agents, flows: [original], store, pollMs: 20 })
    expect(await restored.flow(original, 's1').continue()).toMatchObject({ status: 'waiting' })
    expect(await store.streamEvents('s1')).toEqual(log)
  })

  test('shows in its status and in lists where the code is, is not written anywhere, and is over when the code is back', async () => {
    const attributes = { name: 'planted', version: 1 }
    const before = defineFlow({
      ...attributes,
      run: async (flow) => {
        await flow.sleep(100)
        return flow.step('a', () => 'a')
      },
    })
    const after = defineFlow({ ...attributes, run: async (flow) => flow.step('b', () => 'b') })
    const store = story.openStore()
    const first = story.start({ agents: [], flows: [before], store, pollMs: 20 })
    first
      .flow(before, 's1')
      .start(null)
      .catch(() => {})
    await until(async () => (await store.streamEvents('s1')).length === 2)
    await first.close()

    const second = story.start({ agents: [], flows: [after], store: story.reopen(store), pollMs: 20 })
    await until(async () => (await second.flow(after, 's1').status()) === 'diverged')
    const [listed] = await second.conversations()
    expect(listed).toMatchObject({ id: 's1', status: 'sleeping', problem: { code: 'flow_diverged' } })
    expect(listed!.problem!.message).toContain("'s1' differs from its record at position 1")
    await expect(second.flow(after, 's1').continue()).rejects.toMatchObject({ code: 'flow_diverged' })
    expect(await second.flow(after, 's1').status()).toBe('diverged')
    expect(await store.streamEvents('s1')).toHaveLength(2)
    await second.close()

    const third = story.start({ agents: [], flows: [before], store: story.reopen(store), pollMs: 20 })
    expect(await third.flow(before, 's1').continue()).toEqual({ status: 'done', result: 'a' })
    expect(await third.flow(before, 's1').status()).toBe('done')
    expect((await third.conversations())[0]).not.toHaveProperty('problem')
  })

  test('the error says what was recorded and what the code asks for now', async () => {
    const { session } = await planted(story, divergences.find(({ name }) => name === 'another declared input')!)
    await expect(session.resume(1)).rejects.toMatchObject({
      position: 1,
      recorded: { kind: 'step', name: 'charge', input: { cents: 100 } },
      actual: { kind: 'step', name: 'charge', input: { cents: 1000 } },
    })
  })

  test('code that waits for something outside the flow, beside the flow, is caught when it goes on', async () => {
    const flow = defineFlow({
      name: 'impure',
      version: 1,
      run: async (flow) => {
        const hold = flow.step(
          'long',
          ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
        )
        await new Promise((resolve) => setTimeout(resolve, 20))
        await flow.step('after a timer', ok)
        return hold
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    await expect(runtime.flow(flow, 's1').start(null)).rejects.toMatchObject({
      code: 'flow_diverged',
      actual: { after: 'waiting for something outside the flow' },
    })
    expect((await runtime.flow(flow, 's1').events()).map(({ type }) => type)).toEqual(['flow_started', 'flow_opened'])
  })

  test.each<[string, Code, Code]>([
    [
      'the schema of an answer',
      (flow) => flow.suspend('x', { schema: { type: 'number' } }),
      (flow) => flow.suspend('x'),
    ],
    [
      'what to do after a crash',
      async (flow) => [await flow.step('a', ok), await flow.suspend('x')],
      async (flow) => [await flow.step('a', { ifInterrupted: 'report' }, ok), await flow.suspend('x')],
    ],
    ['the order of keys', (flow) => flow.suspend({ a: 1, b: 2 }), (flow) => flow.suspend({ b: 2, a: 1 })],
    [
      'what a step does',
      async (flow) => [await flow.step('a', ok), await flow.suspend('x')],
      async (flow) => [await flow.step('a', () => 'something else'), await flow.suspend('x')],
    ],
    [
      'what comes after the last outcome',
      (flow) => flow.suspend('x'),
      async (flow) => [await flow.suspend('x'), await flow.now()],
    ],
  ])('a change of %s is no difference', async (_, recorded, changed) => {
    const { session } = await planted(story, { name: '', recorded, changed, at: 0 })
    expect(await session.resume(1)).toMatchObject({ status: 'done' })
  })
})
