import { expect, test } from 'vitest'
import { type LogDetails, silentLogger } from '../../src/base/logger.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { createScope } from '../../src/define/scope.ts'
import { gate } from './gate.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

const soon = { leaseMs: 300, pollMs: 20 }

/** Two steps with a question before, between and after. `runs` tells each run with the step's id; `first` holds up the first one. */
function threeQuestions(options: { hold?: Promise<void>; ifInterrupted?: 'rerun' | 'report' } = {}) {
  const runs: string[] = []
  const begun = gate()
  const flow = defineFlow({
    name: 'questions',
    version: 1,
    run: async (flow) => {
      const a = await flow.suspend<string>('a?')
      const { ifInterrupted = 'rerun' } = options
      const first = await flow
        .step('first', { ifInterrupted }, async ({ id }) => {
          runs.push(`first ${id}`)
          begun.open()
          await options.hold
          return `first of ${a}`
        })
        .catch((error: Error & { outcome: string | null }) => `${error.outcome}: ${error.message}`)
      const b = await flow.suspend<string>('b?')
      const second = await flow.step('second', ({ id }) => {
        runs.push(`second ${id}`)
        return b
      })
      return [first, second]
    },
  })
  return { flow, runs, begun: begun.opened }
}

overStores('sessions on several nodes', (story) => {
  test('a fresh runtime over the same store continues in mid-flight', async () => {
    const { flow, runs } = threeQuestions()
    const store = story.openStore()
    const first = story.start({ agents: [], flows: [flow], store, ...soon })
    await first.flow(flow, 's1').start(null)
    await first.flow(flow, 's1').resume('A')
    await first.close()
    const second = story.start({ agents: [], flows: [flow], store: story.reopen(store), ...soon })
    expect(await second.flow(flow, 's1').status()).toBe('waiting')
    expect(await second.flow(flow, 's1').resume('B')).toEqual({ status: 'done', result: ['first of A', 'B'] })
    expect(runs).toEqual(['first s1/0/2', 'second s1/0/4'])
  })

  test('a step that was under way when its process died runs again, with the same id', async () => {
    const store = story.openStore()
    const dying = threeQuestions({ hold: new Promise(() => {}) })
    const mortal = mortalStore(story.reopen(store))
    const first = story.start({ agents: [], flows: [dying.flow], store: mortal.store, ...soon })
    await first.flow(dying.flow, 's1').start(null)
    const lost = expect(first.flow(dying.flow, 's1').resume('A')).rejects.toThrow()
    await dying.begun
    mortal.kill()

    const living = threeQuestions()
    const second = story.start({ agents: [], flows: [living.flow], store, ...soon })
    const session = second.flow(living.flow, 's1')
    await until(async () => (await session.pending()) === 'b?')
    expect(await session.resume('B')).toEqual({ status: 'done', result: ['first of A', 'B'] })
    expect([...dying.runs, ...living.runs]).toEqual(['first s1/0/2', 'first s1/0/2', 'second s1/0/4'])
    await first.close({ drainMs: 0 })
    await lost
  })

  test('a step that must not run again is reported, and the flow decides', async () => {
    const store = story.openStore()
    const dying = threeQuestions({ hold: new Promise(() => {}), ifInterrupted: 'report' })
    const mortal = mortalStore(story.reopen(store))
    const first = story.start({ agents: [], flows: [dying.flow], store: mortal.store, ...soon })
    await first.flow(dying.flow, 's1').start(null)
    const lost = expect(first.flow(dying.flow, 's1').resume('A')).rejects.toThrow()
    await dying.begun
    mortal.kill()

    const living = threeQuestions({ ifInterrupted: 'report' })
    const second = story.start({ agents: [], flows: [living.flow], store, ...soon })
    const session = second.flow(living.flow, 's1')
    await until(async () => (await session.pending()) === 'b?')
    const told =
      "unknown: The step 'first' was interrupted, and whether it ran is unknown. Find out whether it did before you repeat it."
    expect(await session.resume('B')).toEqual({ status: 'done', result: [told, 'B'] })
    expect([...dying.runs, ...living.runs]).toEqual(['first s1/0/2', 'second s1/0/4'])
    await first.close({ drainMs: 0 })
    await lost
  })

  test('a step that reports when interrupted runs like any other when nothing interrupts it', async () => {
    const { flow, runs } = threeQuestions({ ifInterrupted: 'report' })
    const runtime = story.start({ agents: [], flows: [flow] })
    await runtime.flow(flow, 's1').start(null)
    await runtime.flow(flow, 's1').resume('A')
    expect(await runtime.flow(flow, 's1').resume('B')).toEqual({ status: 'done', result: ['first of A', 'B'] })
    expect(runs).toHaveLength(2)
  })

  test('a runtime that is closed lets a session go, and another takes it up', async () => {
    const store = story.openStore()
    const closing = threeQuestions({ hold: new Promise(() => {}) })
    const first = story.start({ agents: [], flows: [closing.flow], store, ...soon })
    await first.flow(closing.flow, 's1').start(null)
    const waiting = first.flow(closing.flow, 's1').resume('A')
    await closing.begun
    await Promise.all([expect(waiting).rejects.toMatchObject({ code: 'runtime_closed' }), first.close({ drainMs: 0 })])

    const living = threeQuestions()
    // A lease that was not given back would outlast the test's patience.
    const second = story.start({ agents: [], flows: [living.flow], store: story.reopen(store), pollMs: 20 })
    await until(async () => (await second.flow(living.flow, 's1').pending()) === 'b?')
    expect(living.runs).toEqual(['first s1/0/2'])
  })

  test('two nodes resume at once: one wins, and the other learns of it', async () => {
    const { flow, runs } = threeQuestions()
    const store = story.openStore()
    const nodes = [
      story.start({ agents: [], flows: [flow], store, ...soon }),
      story.start({ agents: [], flows: [flow], store: story.reopen(store), ...soon }),
    ]
    await nodes[0]!.flow(flow, 's1').start(null)
    const { seq } = (await nodes[1]!.flow(flow, 's1').suspensions())[0]!
    const answers = await Promise.allSettled(
      nodes.map((node, index) =>
        node
          .as(createScope({ user: `user-${index}` }))
          .flow(flow, 's1')
          .resume(`answer ${index}`, { seq }),
      ),
    )
    const winner = answers.findIndex(({ status }) => status === 'fulfilled')
    expect(answers.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(answers[winner]).toMatchObject({ value: { status: 'waiting', tag: 'b?' } })
    expect(answers[1 - winner]).toMatchObject({
      reason: {
        code: 'not_suspended',
        winner: { who: `user-${winner}`, value: `answer ${winner}`, at: expect.any(Number) },
      },
    })
    expect(runs).toHaveLength(1)
    const done = await nodes[0]!.flow(flow, 's1').resume('B')
    expect(done).toEqual({ status: 'done', result: [`first of answer ${winner}`, 'B'] })
  })

  test('of ten who resume without saying what they mean, each answer lands in at most one place', async () => {
    const flow = defineFlow({
      name: 'ten',
      version: 1,
      run: async (flow) => {
        const answers = []
        while (answers.length < 3) answers.push(await flow.suspend(answers.length))
        return answers
      },
    })
    const store = story.openStore()
    const nodes = Array.from({ length: 2 }, () =>
      story.start({ agents: [], flows: [flow], store: story.reopen(store), ...soon }),
    )
    await nodes[0]!.flow(flow, 's1').start(null)
    const tries = await Promise.allSettled(
      Array.from({ length: 10 }, (_, n) => nodes[n % 2]!.flow(flow, 's1').resume(n)),
    )
    const accepted = tries.flatMap(({ status }, n) => (status === 'fulfilled' ? [n] : []))
    const refused = tries.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []))
    expect(new Set(refused)).toEqual(new Set(['not_suspended']))
    const session = nodes[1]!.flow(flow, 's1')
    while ((await session.status()) !== 'done') await session.resume('rest').catch(() => {})
    const result = (await session.result()) as unknown[]
    expect(result.filter((value) => value !== 'rest').toSorted()).toEqual(accepted.toSorted())
  })

  test('a node that runs nothing can start and resume, and another one runs', async () => {
    const { flow, runs } = threeQuestions()
    const idle = threeQuestions()
    const store = story.openStore()
    const front = story.start({ agents: [], flows: [idle.flow], store, work: false, ...soon })
    const session = front.flow(idle.flow, 's1')
    const elsewhere = { status: 'running', elsewhere: true }
    expect(await session.start(null)).toEqual(elsewhere)
    expect(await session.status()).toBe('running')
    const outcome = session.outcome()
    story.start({ agents: [], flows: [flow], store: story.reopen(store), ...soon })
    expect(await outcome).toEqual({ status: 'waiting', tag: 'a?' })
    expect(await session.resume('A')).toEqual(elsewhere)
    expect(await session.outcome()).toEqual({ status: 'waiting', tag: 'b?' })
    expect(await session.resume('B')).toEqual(elsewhere)
    expect(await session.outcome()).toEqual({ status: 'done', result: ['first of A', 'B'] })
    expect([idle.runs, runs.length]).toEqual([[], 2])
  })

  test('a session that its node cannot go on with is left to a node that can', async () => {
    const { flow, runs } = threeQuestions()
    const other = defineFlow({ name: 'questions', version: 1, run: async (flow) => flow.suspend('another question') })
    const store = story.openStore()
    const right = story.start({ agents: [], flows: [flow], store, work: false, ...soon })
    const refusals: unknown[] = []
    const logger = {
      ...silentLogger,
      error: (_: string, details?: LogDetails) => void refusals.push(details?.['error']),
    }
    const wrong = story.start({ agents: [], flows: [other], store: story.reopen(store), pollMs: 20, logger })
    const busy = wrong.flow(other, 'busy').start(null)
    // Recorded by the code of neither: both questions of the right one are there, the first answered.
    await store.commit('s1', {
      events: [
        { type: 'flow_started', content: { flow: 'questions', version: '1', input: null, who: 'ann' } },
        { type: 'flow_opened', content: { position: 1, asked: 1, op: { kind: 'suspend', tag: 'a?' } } },
        { type: 'flow_outcome', content: { position: 1, ok: true, value: 'A' } },
      ],
      wakeAt: 'now',
      conversation: { kind: 'flow', agent: 'flow:questions' },
    })
    await busy
    await until(() => refusals.length > 0)
    expect(refusals).toMatchObject([{ code: 'flow_diverged', position: 1 }])
    expect(await right.flow(flow, 's1').events()).toHaveLength(3)
    story.start({ agents: [], flows: [flow], store: story.reopen(store), ...soon })
    await until(async () => (await right.flow(flow, 's1').pending()) === 'b?')
    expect(runs).toHaveLength(1)
  })
})
