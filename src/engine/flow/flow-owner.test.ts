import { expect, test } from 'vitest'
import { sessionId as id, isEmpty, opened, owning, sleepy } from '../../../test/flows/owned-session.ts'
import { driveFlow } from './drive-flow.ts'

test('a session parks with what it waits for, when it is due and which status it has', async () => {
  const waiting = await owning((flow) => flow.suspend('go'))
  await driveFlow(waiting.owner)
  expect(waiting.commits).toMatchObject([{ conversation: { status: 'suspended' }, wakeAt: null, lease: 'release' }])
  expect(waiting.owner).toMatchObject({ isLost: true, dueInMs: null })

  const sleeping = await owning(sleepy(500))
  await driveFlow(sleeping.owner)
  expect(sleeping.commits).toMatchObject([
    { events: [] },
    { conversation: { status: 'sleeping' }, wakeAt: { inMs: 500 }, lease: 'release' },
  ])
  expect(sleeping.owner.dueInMs).toBe(500)

  const ending = await owning(async () => 7)
  await driveFlow(ending.owner)
  expect(ending.commits).toMatchObject([{ conversation: { status: 'ended' }, wakeAt: null }])
  expect(await ending.types()).toEqual(['flow_started', 'flow_ended'])
})

test('a sleep that is over is ended after the store has told the time, which is asked for once more then', async () => {
  const over = await owning(sleepy(500), { more: [opened({ kind: 'sleep', ms: 500 })] })
  await over.clock.advance(500)
  await driveFlow(over.owner)
  expect(await over.types()).toEqual(['flow_started', 'flow_opened', 'flow_outcome', 'flow_ended'])
  expect(over.commits.filter(isEmpty)).toHaveLength(1)

  const early = await owning(sleepy(500), { more: [opened({ kind: 'sleep', ms: 500 })] })
  await early.clock.advance(499)
  await driveFlow(early.owner)
  expect(early.commits).toMatchObject([{ events: [] }, { events: [], wakeAt: { inMs: 1 }, lease: 'release' }])
})

test('a step that runs beside a sleep is not asked about the time again until the sleep is due', async () => {
  const work = Promise.withResolvers<string>()
  const both = await owning(async (flow) => Promise.all([flow.sleep(500), flow.step('work', () => work.promise)]))
  const driving = driveFlow(both.owner)
  await both.pass(499)
  expect(both.commits.filter(isEmpty)).toEqual([])
  await both.pass(1)
  expect(both.commits.filter(isEmpty)).toHaveLength(1)
  expect((await both.types()).at(-1)).toBe('flow_outcome')
  work.resolve('done')
  await driving
  expect((await both.types()).at(-1)).toBe('flow_ended')
})

test('a session that wakes is active from its first commit on', async () => {
  const work = Promise.withResolvers<string>()
  const woken = await owning(
    async (flow) => {
      await flow.sleep(500)
      return flow.step('work', () => work.promise)
    },
    { more: [opened({ kind: 'sleep', ms: 500 })] },
  )
  await woken.store.putConversation(id, { status: 'sleeping' })
  await woken.clock.advance(500)
  const driving = driveFlow(woken.owner)
  await woken.pass(1)
  expect(await woken.types()).toEqual(['flow_started', 'flow_opened', 'flow_outcome', 'flow_opened'])
  expect((await woken.store.getConversation(id))?.status).toBe('active')
  work.resolve('done')
  await driving
})

test('what a session asks has a row from the commit that asks, and loses it to the end of the session', async () => {
  const asking = await owning((flow) => Promise.race([flow.suspend('one'), flow.request('pay', 5), flow.now()]))
  await driveFlow(asking.owner)
  const rows = [
    { id: 'flow:s1:2', name: 'suspend', kind: 'flow', round: 2, args: 'one', prompt: null },
    { id: 'flow:s1:3', name: 'pay', kind: 'flow', round: 3, args: { type: 'request', kind: 'pay', payload: 5 } },
  ]
  const written = asking.commits.flatMap(({ calls }) => (calls ? [calls] : []))
  expect(written).toMatchObject([
    rows.map((row) => ({ ...row, status: 'pending' })),
    rows.map((row) => ({ ...row, status: 'cancelled' })),
  ])
  expect(await asking.store.pendingToolCalls(id)).toEqual([])
})

test('without a sleep nothing is asked of the time', async () => {
  const { owner, commits } = await owning((flow) => flow.step('work', () => 1))
  await driveFlow(owner)
  expect(commits.filter(isEmpty)).toEqual([])
  expect(commits).toHaveLength(3)
})

test('what others append before a commit is read, and decided on', async () => {
  const session = await owning((flow) => Promise.race([flow.suspend('one'), flow.suspend('two')]))
  let isFirst = true
  session.meddle.commit = async () => {
    if (!isFirst) return
    isFirst = false
    await session.store.commit(id, { events: [{ type: 'titled', content: { title: 'T' } }] })
  }
  await driveFlow(session.owner)
  expect(await session.types()).toEqual(['flow_started', 'titled', 'flow_opened', 'flow_opened'])
  expect(session.owner.lastSeq).toBe(2)
  expect(session.lost).toEqual([])
})

test('an answer that is hinted at is read while a step runs; a hint at what is known wakes nothing', async () => {
  const work = Promise.withResolvers<string>()
  const session = await owning((flow) => Promise.race([flow.suspend('go'), flow.step('work', () => work.promise)]))
  let reads = 0
  session.meddle.read = () => void (reads += 1)
  const driving = driveFlow(session.owner)
  await session.pass(0)
  session.owner.hint(session.owner.lastSeq)
  await session.pass(0)
  expect(reads).toBe(0)
  await session.store.commit(id, {
    events: [{ type: 'flow_outcome', content: { position: 1, ok: true, value: 'answer' } }],
  })
  session.owner.hint(4)
  await driving
  expect(reads).toBe(1)
  expect((await session.store.streamEvents(id)).at(-1)).toMatchObject({
    ...{ type: 'flow_ended', content: { status: 'done', result: 'answer' } },
  })
})

test('closing stops what runs, leaves it open in the log and gives the lease back, once', async () => {
  const stopped = Promise.withResolvers<string>()
  const { owner, pass, released, types, epoch } = await owning((flow) =>
    flow.step('work', ({ signal }) => {
      signal.addEventListener('abort', () => stopped.resolve('stopped'))
      return stopped.promise
    }),
  )
  const driving = driveFlow(owner)
  await pass(0)
  await owner.close()
  await owner.close()
  await driving
  expect(await stopped.promise).toBe('stopped')
  expect(released).toEqual([epoch])
  expect(await types()).toEqual(['flow_started', 'flow_opened'])
})

test('an end that is read from the log stops what runs', async () => {
  const stopped = Promise.withResolvers<string>()
  const { owner, pass, store, epoch } = await owning((flow) =>
    flow.step('work', ({ signal }) => {
      signal.addEventListener('abort', () => stopped.resolve('stopped'))
      return stopped.promise
    }),
  )
  const driving = driveFlow(owner)
  await pass(0)
  await store.commit(id, { events: [{ type: 'flow_ended', content: { status: 'failed', error: 'told to' } }], epoch })
  owner.hint(3)
  await driving
  expect(await stopped.promise).toBe('stopped')
  expect(owner.isLost).toBe(true)
})

test('an agent is asked again when its turn is looked at, and its answer goes on with the session', async () => {
  const asked: boolean[] = []
  const answer = { status: 'completed' as const, text: 'Hi', object: null, reason: null }
  const work = Promise.withResolvers<string>()
  const { owner, pass, store } = await owning(
    async (flow) => {
      const [said] = await Promise.all([flow.agent('editor', { message: 'hi' }), flow.step('work', () => work.promise)])
      return said.text
    },
    {
      async askAgent(_op, _id, _who, wasSent) {
        asked.push(wasSent)
        return asked.length === 1 ? null : answer
      },
    },
  )
  const driving = driveFlow(owner)
  await pass(999)
  expect(asked).toEqual([false])
  await pass(1)
  expect(asked).toEqual([false, true])
  work.resolve('done')
  await driving
  expect((await store.streamEvents(id)).at(-1)).toMatchObject({ content: { status: 'done', result: 'Hi' } })
})

test('a session that parks keeps which messages to agents were sent', async () => {
  const { owner, commits } = await owning((flow) => flow.agent('editor', { message: 'hi' }))
  await driveFlow(owner)
  expect(commits.at(-1)).toMatchObject({
    ...{ conversation: { status: 'active', settings: { sentMessages: ['s1/0/1'] } }, wakeAt: { inMs: 1_000 } },
  })
})

test('a fresh record begins with what it was given, and what ran for the old one is not reported', async () => {
  const signals: AbortSignal[] = []
  let round = 0
  const { owner, store, types, commits } = await owning(async (flow) => {
    round += 1
    if (round > 1) return flow.suspend('later')
    void flow.step('slow', ({ signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    })
    await flow.step('quick', () => 1)
    return flow.continueAs({ round: 2 })
  })
  await driveFlow(owner)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  expect((await types()).slice(-2)).toEqual(['flow_continued', 'flow_opened'])
  expect((await store.streamEvents(id)).at(-1)).toMatchObject({ content: { position: 1, op: { kind: 'suspend' } } })
  expect(owner.loaded.state).toMatchObject({ generation: 1, input: { round: 2 } })
  expect(commits.at(-1)).toMatchObject({ conversation: { status: 'suspended' } })
})

test('an agent that the old record waits for does not keep the fresh one from asking another', async () => {
  const asked: string[] = []
  const isAsked = Promise.withResolvers<void>()
  let round = 0
  const { owner } = await owning(
    async (flow) => {
      round += 1
      const answer = flow.agent('editor', { message: 'hi' })
      if (round > 1) return answer
      await flow.step('work', () => isAsked.promise)
      return flow.continueAs(null)
    },
    {
      async askAgent(_op, id) {
        asked.push(id)
        setImmediate(isAsked.resolve)
        return null
      },
    },
  )
  await driveFlow(owner)
  expect(asked).toEqual(['s1/0/1', 's1/1/1'])
})

test('what a flow draws is the time of its node, a number below one, and an id, each another time', async () => {
  const { owner, clock, store } = await owning(async (flow) => [
    await flow.now(),
    await flow.random(),
    await flow.random(),
    await flow.uuid(),
    await flow.uuid(),
  ])
  await driveFlow(owner)
  const ended = (await store.streamEvents(id)).at(-1)!
  const [now, one, two, uuid, other] = (ended.content as unknown as { result: unknown[] }).result
  expect(now).toBe(clock.now())
  expect(one).not.toBe(two)
  for (const number of [one, two]) expect(number).toSatisfy((drawn: number) => drawn >= 0 && drawn < 1)
  expect(uuid).toMatch(/^[0-9a-f-]{36}$/)
  expect(other).not.toBe(uuid)
})

test('what is known of a session is its record and the time of its last event', async () => {
  const { owner, clock, pass, store } = await owning((flow) => flow.step('work', () => new Promise(() => {})))
  await clock.advance(5)
  const driving = driveFlow(owner)
  await pass(5)
  const last = (await store.streamEvents(id)).at(-1)!
  expect(owner.loaded).toMatchObject({ state: { lastSeq: 2 }, summarisedTo: 0, lastAt: last.at })
  owner.loseLease()
  await driving
})
