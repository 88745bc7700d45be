import { expect, test } from 'vitest'
import { z } from 'zod'
import { sessionId as id, isEmpty, opened, owning, sleepy, takeAway } from '../../../test/flows/owned-session.ts'
import { InvalidArgumentError, StoreClosedError, StoreError } from '../../base/errors/store-errors.ts'
import { driveFlow } from './drive-flow.ts'

test('when the time cannot be told, nothing is decided, and it is asked for again after a while', async () => {
  const { owner, clock, pass, meddle, warnings, types } = await owning(sleepy(500), {
    more: [opened({ kind: 'sleep', ms: 500 })],
  })
  await clock.advance(500)
  let failures = 2
  meddle.commit = (change) => {
    if (isEmpty(change) && failures-- > 0) throw new StoreError('away')
  }
  const driving = driveFlow(owner)
  await pass(49)
  expect(warnings).toEqual(['a commit of a session failed; trying again'])
  expect(owner.problem).toMatchObject({ message: expect.stringContaining('away') })
  expect(await types()).toHaveLength(2)
  await pass(200)
  await driving
  expect(await types()).toEqual(['flow_started', 'flow_opened', 'flow_outcome', 'flow_ended'])
  expect(owner.problem).toBe(null)
})

test('the time of a session that another node has taken is asked for once, and then it is lost', async () => {
  const session = await owning(sleepy(500), { more: [opened({ kind: 'sleep', ms: 500 })] })
  await takeAway(session)
  await driveFlow(session.owner)
  expect(session.owner.isLost).toBe(true)
  expect(session.lost).toEqual([1])
  expect(session.warnings).toEqual(['a lease was lost: another node has taken the session'])
  expect(await session.types()).toHaveLength(2)
})

test('a commit under a lease that another node has writes nothing, and stops what runs', async () => {
  const stopped = Promise.withResolvers<string>()
  const session = await owning((flow) =>
    flow.step('work', ({ signal }) => {
      signal.addEventListener('abort', () => stopped.resolve('stopped'))
      return stopped.promise
    }),
  )
  const driving = driveFlow(session.owner)
  await session.pass(0)
  await takeAway(session)
  session.owner.hint(0)
  expect(session.owner.isLost).toBe(false)
  expect(await session.owner.commit({ events: [], parks: true, wakeInMs: null })).toBe(false)
  await driving
  expect(await stopped.promise).toBe('stopped')
  expect(session.owner.isLost).toBe(true)
  expect(await session.types()).toEqual(['flow_started', 'flow_opened'])
})

test('a commit that may have been made is proven before its step runs, and the step runs once', async () => {
  let runs = 0
  const session = await owning((flow) => flow.step('work', () => ++runs))
  session.meddle.commit = async (change) => {
    if (change.events[0]?.type !== 'flow_opened' || session.commits.length > 0) return
    session.meddle.commit = () => {}
    await session.store.commit(id, change)
    throw new StoreError('the connection was lost', { ambiguous: true })
  }
  const driving = driveFlow(session.owner)
  await session.pass(49)
  expect(runs).toBe(0)
  await session.pass(1)
  await driving
  expect(runs).toBe(1)
  expect(session.commits.filter(isEmpty)).toHaveLength(1)
  expect(await session.types()).toEqual(['flow_started', 'flow_opened', 'flow_outcome', 'flow_ended'])
})

test('a proof that another node has the session lets nothing run', async () => {
  let runs = 0
  const session = await owning((flow) => flow.step('work', () => ++runs))
  session.meddle.commit = async (change) => {
    session.meddle.commit = () => {}
    await session.store.commit(id, change)
    await takeAway(session)
    throw new StoreError('the connection was lost', { ambiguous: true })
  }
  const driving = driveFlow(session.owner)
  await session.pass(50)
  await driving
  expect(runs).toBe(0)
  expect(session.owner.isLost).toBe(true)
  expect(session.lost).toEqual([1])
})

test('a proof that fails is tried again, and nothing runs before it', async () => {
  let runs = 0
  const session = await owning((flow) => flow.step('work', () => ++runs))
  let proofs = 0
  let isOpened = false
  session.meddle.commit = async (change) => {
    if (isEmpty(change) && ++proofs === 1) throw new StoreError('away')
    if (isOpened || isEmpty(change)) return
    isOpened = true
    await session.store.commit(id, change)
    throw new StoreError('the connection was lost', { ambiguous: true })
  }
  const driving = driveFlow(session.owner)
  await session.pass(50)
  expect([runs, proofs]).toEqual([0, 1])
  expect(session.warnings.at(-1)).toBe('checking the lease of a session failed; trying again')
  await session.pass(100)
  await driving
  expect([runs, proofs]).toEqual([1, 2])
})

test('a session that was deleted, or whose store is closed, is let go without a word; what a store never takes is thrown', async () => {
  const deleted = await owning((flow) => flow.suspend('go'))
  await deleted.store.deleteConversation(id)
  deleted.meddle.commit = () => {
    throw new StoreClosedError()
  }
  await driveFlow(deleted.owner)
  expect(deleted.owner.isLost).toBe(true)
  expect(deleted.warnings).toEqual([])

  const gone = await owning((flow) => flow.suspend('go'))
  await gone.store.deleteConversation(id)
  await driveFlow(gone.owner)
  expect(gone.owner.isLost).toBe(true)

  const refused = await owning((flow) => flow.suspend('go'))
  refused.meddle.commit = () => {
    throw new InvalidArgumentError('tag', 'is too large')
  }
  await expect(driveFlow(refused.owner)).rejects.toMatchObject({ retryable: false })
  expect(refused.owner.isLost).toBe(false)
})

test('a read that fails is tried again, and what the store will never give is thrown', async () => {
  const session = await owning((flow) => flow.suspend('go'))
  session.meddle.read = () => {
    session.meddle.read = () => {}
    throw new StoreError('away')
  }
  await session.store.commit(id, { events: [{ type: 'titled', content: { title: 'T' } }] })
  session.owner.hint(2)
  await session.owner.catchUp()
  expect(session.warnings).toEqual(['reading the log of a session failed; trying again'])
  expect(await session.owner.decide()).toEqual({ events: [], parks: false, wakeInMs: null })
  await session.owner.changed()
  const driving = driveFlow(session.owner)
  await session.pass(50)
  await driving
  expect((await session.types()).at(-1)).toBe('flow_opened')

  const closed = await owning((flow) => flow.suspend('go'))
  closed.meddle.read = () => {
    throw new StoreClosedError()
  }
  closed.owner.hint(2)
  await expect(closed.owner.catchUp()).rejects.toMatchObject({ code: 'store_closed' })
})

test('what continueAs is given must fit the input of the flow; else the session fails, and says why', async () => {
  const { owner, store, warnings, commits } = await owning((flow) => flow.continueAs({ round: 'two' }), {
    input: z.object({ round: z.number() }).nullable(),
  })
  await driveFlow(owner)
  expect((await store.streamEvents(id)).at(-1)).toMatchObject({
    ...{ type: 'flow_ended', content: { status: 'failed', error: expect.stringContaining('round') } },
  })
  expect(warnings).toEqual(['a flow gave continueAs an input that it cannot continue with'])
  expect(commits.at(-1)).toMatchObject({ conversation: { status: 'failed' } })
})

test('a past that cannot be put away is told of, and the session goes on', async () => {
  let round = 0
  const session = await owning(async (flow) => {
    round += 1
    if (round > 1) return flow.suspend('later')
    for (let n = 0; n < 100; n++) await flow.now()
    return flow.continueAs(null)
  })
  session.meddle.summary = () => {
    throw new StoreError('away')
  }
  await driveFlow(session.owner)
  expect(session.warnings).toEqual(['the earlier part of a session could not be summarised'])
  expect(session.warned).toEqual([{ tenant: 'default', id, error: new StoreError('away') }])
  expect((await session.types()).at(-1)).toBe('flow_opened')
  expect(session.owner.loaded.summarisedTo).toBe(0)
})
