import { expect, test } from 'vitest'
import { defineFlow } from '../../src/define/define-flow.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'

overStores('the steps of a flow', (story) => {
  test('run once each, whatever is replayed after them, and return the recorded result', async () => {
    const runs: string[] = []
    const flow = defineFlow({
      name: 'import',
      version: 1,
      run: async (flow, input) => {
        const read = await flow.step('read', { input }, () => {
          runs.push('read')
          return { at: new Date(0), nothing: undefined, rows: 2 }
        })
        await flow.suspend('go on?')
        const wrote = await flow.step('write', ({ id }) => {
          runs.push('write')
          return id
        })
        await flow.suspend('really?')
        return { read, wrote }
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    await session.start('file.csv')
    await session.resume(true)
    expect(await session.resume(true)).toEqual({
      status: 'done',
      result: { read: { at: '1970-01-01T00:00:00.000Z', rows: 2 }, wrote: 's1/0/3' },
    })
    expect(runs).toEqual(['read', 'write'])
  })

  test('run side by side where the code asks for them so', async () => {
    const bothRun = gate()
    let running = 0
    const flow = defineFlow({
      name: 'parallel',
      version: 1,
      run: async (flow) => {
        const meet = async () => {
          running += 1
          if (running === 2) bothRun.open()
          await bothRun.opened
          return running
        }
        return Promise.all([flow.step('left', meet), flow.step('right', meet)])
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    expect(await runtime.flow(flow, 's1').start(null)).toEqual({ status: 'done', result: [2, 2] })
  })

  test('may fail, and the flow may catch it; every replay throws the same again', async () => {
    let runs = 0
    const flow = defineFlow({
      name: 'careful',
      version: 1,
      run: async (flow) => {
        const problem = await flow
          .step('risky', () => {
            runs += 1
            throw new Error(`no luck ${runs}`)
          })
          .catch((error: Error & { code: string }) => `${error.code}: ${error.message}`)
        await flow.suspend('go on?')
        return problem
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    await runtime.flow(flow, 's1').start(null)
    const done = await runtime.flow(flow, 's1').resume(null)
    expect(done).toEqual({ status: 'done', result: 'flow_step_failed: no luck 1' })
    expect(runs).toBe(1)
  })

  test('that fail after they are awaited harm nothing', async () => {
    const flow = defineFlow({
      name: 'late',
      version: 1,
      run: async (flow) => {
        const failing = flow.step('fail', () => Promise.reject(new Error('early')))
        await flow.suspend('wait')
        return failing.catch((error: Error) => error.message)
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    expect(await runtime.flow(flow, 's1').start(null)).toEqual({ status: 'waiting', tag: 'wait' })
    expect(await runtime.flow(flow, 's1').resume(null)).toEqual({ status: 'done', result: 'early' })
  })

  test.each([
    ['an error', () => new Error('it broke'), 'it broke'],
    ['a text', () => 'just text', 'just text'],
    ['nothing', () => undefined, 'it threw undefined'],
  ])('a flow that throws %s ends failed, and that is recorded', async (_, thrown, error) => {
    const flow = defineFlow({
      name: 'failing',
      version: 1,
      run: async (flow): Promise<string> => {
        await flow.now()
        throw thrown()
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    expect(await session.start(null)).toEqual({ status: 'failed', error })
    expect([await session.status(), await session.result()]).toEqual(['failed', null])
    expect((await session.events()).at(-1)).toMatchObject({ type: 'flow_ended', content: { status: 'failed', error } })
    await expect(session.resume(1)).rejects.toMatchObject({ code: 'not_suspended' })
    expect(await runtime.conversations({ status: 'failed' })).toMatchObject([{ id: 's1', agent: 'flow:failing' }])
    expect(await runtime.sessions({ status: 'failed' })).toMatchObject([
      { id: 's1', flow: 'failing', status: 'failed' },
    ])
  })

  test('a result that cannot be recorded fails the step, and says that it ran', async () => {
    const flow = defineFlow({
      name: 'odd',
      version: 1,
      run: (flow) =>
        flow
          .step('odd', () => 1n as unknown as number)
          .catch((error: Error & { outcome: string }) => [error.outcome, error.message]),
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    expect(await runtime.flow(flow, 's1').start(null)).toMatchObject({
      result: ['ran', expect.stringContaining('it ran, but its result cannot be recorded')],
    })
  })

  test('what cannot be recorded at all is refused where it is asked for', async () => {
    const flow = defineFlow({
      name: 'refused',
      version: 1,
      run: async (flow) => {
        const attempts: (() => unknown)[] = [
          () => flow.suspend((() => {}) as never),
          () => flow.request('kind', 'x'.repeat(2_000_000)),
          () => flow.sleep(-1),
          () => flow.sleep(Number.MAX_SAFE_INTEGER),
          () => flow.step('no function', undefined as never),
          () => flow.step('other', { ifInterrupted: 'never' as never }, () => 1),
          () => flow.agent('', { message: 'hi' }),
          () => flow.continueAs(Symbol('x') as never),
        ]
        return attempts.map((attempt) => {
          try {
            attempt()
            return 'asked for'
          } catch (error) {
            return (error as { code: string }).code
          }
        })
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const codes = ['invalid_argument', 'invalid_id']
    const { result } = (await runtime.flow(flow, 's1').start(null)) as { result: string[] }
    expect(result.map((code) => codes.includes(code))).toEqual(Array.from({ length: 8 }, () => true))
  })

  test('the first of a race ends the flow; what still runs is aborted and its result is ignored', async () => {
    const stopped = gate<boolean>()
    const flow = defineFlow({
      name: 'race',
      version: 1,
      run: (flow) =>
        Promise.race([
          flow.step('quick', () => 'quick'),
          flow.step(
            'slow',
            ({ signal }) =>
              new Promise<string>((resolve) =>
                signal.addEventListener('abort', () => {
                  stopped.open(true)
                  resolve('slow')
                }),
              ),
          ),
        ]),
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    expect(await runtime.flow(flow, 's1').start(null)).toEqual({ status: 'done', result: 'quick' })
    expect(await stopped.opened).toBe(true)
    const events = await runtime.flow(flow, 's1').events()
    expect(events.filter(({ type }) => type === 'flow_ended')).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'flow_outcome')).toHaveLength(1)
  })

  test('an answer may arrive while a step runs', async () => {
    const begun = gate()
    const flow = defineFlow({
      name: 'impatient',
      version: 1,
      run: (flow) =>
        Promise.race([
          flow.step('long', ({ signal }) => {
            begun.open()
            return new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('long')))
          }),
          flow.suspend<string>('stop it'),
        ]),
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    const started = session.start(null)
    await begun.opened
    expect([await session.status(), await session.pending()]).toEqual(['running', null])
    expect(await session.suspensions()).toMatchObject([{ tag: 'stop it' }])
    expect(await session.resume('stopped')).toEqual({ status: 'done', result: 'stopped' })
    expect(await started).toEqual({ status: 'done', result: 'stopped' })
  })

  test('time, chance and ids are recorded like everything else', async () => {
    const flow = defineFlow({
      name: 'chance',
      version: 1,
      run: async (flow) => {
        const seen = [await flow.now(), await flow.random(), await flow.uuid()]
        await flow.suspend('go on?')
        return seen
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    await session.start(null)
    const { outcomes } = (await session.record())!
    const recorded = outcomes.map((outcome) => outcome.ok && outcome.value)
    expect(recorded).toEqual([expect.any(Number), expect.any(Number), expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(await session.resume(null)).toEqual({ status: 'done', result: recorded })
  })
})
