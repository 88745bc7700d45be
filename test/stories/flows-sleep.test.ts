import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

const soon = { leaseMs: 300, pollMs: 20 }
const dayMs = 86_400_000

function sleeper(ms: number) {
  const wakings: string[] = []
  const flow = defineFlow({
    name: 'sleeper',
    version: 1,
    run: async (flow) => {
      const slept = await flow.sleep(ms)
      await flow.step('wake up', ({ id }) => void wakings.push(id))
      return slept === undefined
    },
  })
  return { flow, wakings }
}

overStores('a flow that sleeps', (story) => {
  test('goes on by itself when the time has come, not before, and once', async () => {
    const { flow, wakings } = sleeper(60)
    const runtime = story.start({ agents: [], flows: [flow], ...soon })
    const session = runtime.flow(flow, 's1')
    const wakeAt = expect.any(Number) as number
    expect(await session.start(null)).toEqual({ status: 'sleeping', wakeAt })
    expect(await session.outcome()).toEqual({ status: 'done', result: true })
    const events = await runtime.flow(flow, 's1').events()
    const [opened, woken] = [events[1]!, events[2]!]
    expect([opened.type, woken.type]).toEqual(['flow_opened', 'flow_outcome'])
    expect(woken.at - opened.at).toBeGreaterThanOrEqual(60)
    expect(wakings).toEqual(['s1/0/2'])
  })

  test('sleeps on while no process is alive, and wakes late but once', async () => {
    const store = story.openStore()
    const { flow } = sleeper(100)
    const mortal = mortalStore(story.reopen(store))
    const first = story.start({ agents: [], flows: [flow], store: mortal.store, ...soon })
    expect(await first.flow(flow, 's1').start(null)).toMatchObject({ status: 'sleeping' })
    expect(await store.streamEvents('s1')).toHaveLength(2)
    mortal.kill()
    await new Promise((resolve) => setTimeout(resolve, 120))
    expect(await store.streamEvents('s1')).toHaveLength(2)

    const { flow: same, wakings } = sleeper(100)
    const nodes = Array.from({ length: 2 }, () =>
      story.start({ agents: [], flows: [same], store: story.reopen(store), ...soon }),
    )
    await until(async () => (await nodes[0]!.flow(same, 's1').status()) === 'done')
    expect(wakings).toEqual(['s1/0/2'])
    const outcomes = (await store.streamEvents('s1')).filter(({ type }) => type === 'flow_outcome')
    expect(outcomes).toHaveLength(2)
    await first.close({ drainMs: 0 })
  })

  test('sleeps for two months without being taken for due', async () => {
    const { flow, wakings } = sleeper(60 * dayMs)
    const store = story.openStore()
    const front = story.start({ agents: [], flows: [flow], store, work: false })
    const runtime = story.start({ agents: [], flows: [flow], store: story.reopen(store), ...soon })
    expect(await runtime.flow(flow, 's1').start(null)).toMatchObject({ status: 'sleeping' })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await store.dueWork({ agents: ['flow:sleeper'], limit: 5 })).toEqual([])
    const session = front.flow(flow, 's1')
    const [, slept] = await store.streamEvents('s1')
    expect([await session.status(), await session.wakeAt()]).toEqual(['sleeping', slept!.at + 60 * dayMs])
    expect(await front.sessions({ status: 'sleeping' })).toMatchObject([{ id: 's1', status: 'sleeping' }])
    expect(await front.sessions({ status: 'running' })).toEqual([])
    expect(await store.streamEvents('s1')).toHaveLength(2)
    expect(wakings).toEqual([])
    const waiting = runtime.flow(flow, 's1').outcome()
    await Promise.all([expect(waiting).rejects.toMatchObject({ code: 'runtime_closed' }), runtime.close()])
  })

  test.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ])(
    'sleeps by the clock of the store, on a node whose own is an hour %s and that something else wakes',
    async (_, skewMs) => {
      const flow = defineFlow({
        name: 'both',
        version: 1,
        run: async (flow) => {
          await Promise.all([flow.sleep(150), flow.suspend('go')])
          return 'both'
        },
      })
      const store = story.openStore()
      const clock = { ...systemClock, now: () => Date.now() + skewMs }
      const nodes = Array.from({ length: 2 }, () =>
        story.start({ agents: [], flows: [flow], store: story.reopen(store), clock, ...soon }),
      )
      expect(await nodes[0]!.flow(flow, 's1').start(null)).toEqual({ status: 'waiting', tag: 'go' })
      await nodes[1]!.flow(flow, 's1').resume(1)
      expect(await nodes[1]!.flow(flow, 's1').outcome()).toEqual({ status: 'done', result: 'both' })
      const events = await store.streamEvents('s1')
      const opened = events.find((event) => event.type === 'flow_opened' && event.content.op.kind === 'sleep')!
      const woken = events.find((event) => event.type === 'flow_outcome' && event.content.position === 1)!
      expect(woken.at - opened.at).toBeGreaterThanOrEqual(150)
    },
  )

  test('may be woken by an answer: whichever comes first', async () => {
    const flow = defineFlow({
      name: 'deadline',
      version: 1,
      run: (flow, ms) => Promise.race([flow.suspend<string>('hurry'), flow.sleep(ms as number).then(() => 'too late')]),
    })
    const runtime = story.start({ agents: [], flows: [flow], ...soon })
    expect(await runtime.flow(flow, 'quick').start(60 * dayMs)).toEqual({ status: 'waiting', tag: 'hurry' })
    expect(await runtime.flow(flow, 'quick').resume('in time')).toEqual({ status: 'done', result: 'in time' })
    expect(await runtime.flow(flow, 'slow').start(30)).toEqual({ status: 'waiting', tag: 'hurry' })
    await until(async () => (await runtime.flow(flow, 'slow').status()) === 'done')
    expect(await runtime.flow(flow, 'slow').result()).toBe('too late')
    await expect(runtime.flow(flow, 'slow').resume('late')).rejects.toMatchObject({ code: 'not_suspended' })
  })
})

test('a flow sleeps for a century if it is told to, to the day', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock, logger: silentLogger })
  const { flow, wakings } = sleeper(36_525 * dayMs)
  // Polling every second would take the clock a while.
  const runtime = createRuntime({ agents: [], flows: [flow], store, clock, logger: silentLogger, pollMs: dayMs })
  const session = runtime.flow(flow, 's1')
  const started = session.start(null)
  await clock.advance(0)
  expect(await started).toEqual({ status: 'sleeping', wakeAt: clock.now() + 36_525 * dayMs })
  await clock.set(clock.now() + 36_524 * dayMs)
  await clock.advance(dayMs / 2)
  expect(wakings).toEqual([])
  await clock.advance(2 * dayMs)
  expect(await session.outcome()).toEqual({ status: 'done', result: true })
  expect(wakings).toEqual(['s1/0/2'])
  await runtime.close()
  await store.close()
})
