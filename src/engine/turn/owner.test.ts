import { expect, test } from 'vitest'
import { said } from '../../../test/log/story.ts'
import { acting, conversationId as id, owningConversation } from '../../../test/support/owned-conversation.ts'
import {
  ConversationNotFoundError,
  InvalidArgumentError,
  StoreClosedError,
  StoreError,
} from '../../base/errors/store-errors.ts'
import { defineAgent } from '../../define/define-agent.ts'
import type { Change } from '../../store/change.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import { drive } from './drive.ts'

const talking = () => defineAgent({ name: 'talker', model: scriptedModel('Hello.') })
const isStart = ({ events }: Change) => events.some(({ type }) => type === 'tool_started')
const isEmpty = ({ events }: Change) => events.length === 0
const whole = ['user_msg', 'assistant_msg', 'tool_call', 'tool_started', 'tool_result', 'assistant_msg', 'turn_ended']

test('a turn ends in one commit that lets the conversation go, and it is kept in memory as it ended', async () => {
  const { owner, commits, types, workingSets } = await owningConversation(talking(), [said('t1')])
  await drive(owner)
  expect(await types()).toEqual(['user_msg', 'assistant_msg', 'turn_ended'])
  expect(commits.at(-1)).toMatchObject({ wakeAt: null, lease: 'release', expectedSeq: 1 })
  expect(commits.filter(({ lease }) => lease === 'release')).toHaveLength(1)
  expect(owner.isLost).toBe(false)
  expect(workingSets.peek('default', id)?.state.lastSeq).toBe(3)
})

test('the cached state goes with a commit that changes it, and again after the store has failed', async () => {
  const cachedIn = async (isFlaky: boolean) => {
    const { agent, runs } = acting()
    const { owner, pass, commits, meddle } = await owningConversation(agent, [said('t1')])
    const driving = drive(owner)
    await pass(0)
    meddle.commit = () => {
      meddle.commit = () => {}
      if (isFlaky) throw new StoreError('away')
    }
    runs[0]!.resolve('acted')
    await pass(50)
    await driving
    return commits.map(({ fsmState }) => (fsmState as { state: string } | undefined)?.state)
  }
  expect(await cachedIn(false)).toEqual(['running', undefined, 'idle'])
  expect(await cachedIn(true)).toEqual(['running', 'running', 'idle'])
})

test('a read that fails once while a tool runs loses no result', async () => {
  const { agent, runs } = acting()
  const { owner, pass, meddle, store, told, fields, types } = await owningConversation(agent, [said('t1')])
  const driving = drive(owner)
  await pass(0)
  meddle.read = () => {
    meddle.read = () => {}
    throw new StoreError('away')
  }
  await store.commit(id, { events: [{ type: 'titled', content: { title: 'T' } }] })
  owner.hint(5)
  await pass(0)
  expect(told).toEqual(['warn: reading the log failed; trying again'])
  expect(fields).toEqual([{ tenant: 'default', id, error: new StoreError('away'), waitMs: 50 }])
  expect(owner.problem).toMatchObject({ code: 'store_failed' })
  runs[0]!.resolve('acted')
  await pass(50)
  await driving
  expect(await types()).toEqual([...whole.slice(0, 4), 'titled', ...whole.slice(4)])
  expect(runs).toHaveLength(1)
  expect(owner.problem).toBe(null)
})

test('an event that cannot be folded ends the work with its error', async () => {
  const { agent } = acting()
  const { owner, pass, meddle } = await owningConversation(agent, [said('t1')])
  const driving = drive(owner)
  await pass(0)
  meddle.read = () => {
    throw Object.assign(new InvalidArgumentError('event', 'is of a later version'), { code: 'event_unknown' })
  }
  owner.hint(9)
  await expect(driving).rejects.toMatchObject({ code: 'event_unknown' })
})

test('a hint at what is known wakes nothing; one at more is read', async () => {
  const { agent, runs } = acting()
  const { owner, pass, meddle } = await owningConversation(agent, [said('t1')])
  let reads = 0
  meddle.read = () => void (reads += 1)
  const driving = drive(owner)
  await pass(0)
  owner.hint(owner.lastSeq)
  await pass(0)
  expect([reads, owner.hasNews]).toEqual([0, false])
  owner.hint(owner.lastSeq + 1)
  expect(owner.hasNews).toBe(true)
  await pass(0)
  expect([reads, owner.hasNews]).toEqual([1, false])
  runs[0]!.resolve('acted')
  await driving
})

test('a start whose commit may have been made is proven under the lease, and run once', async () => {
  const { agent, runs } = acting()
  const { owner, pass, meddle, store, commits, types } = await owningConversation(agent, [said('t1')])
  meddle.commit = async (change) => {
    if (!isStart(change)) return
    meddle.commit = () => {}
    await store.commit(id, change)
    throw new StoreError('the connection was lost', { ambiguous: true })
  }
  const driving = drive(owner)
  await pass(49)
  expect(runs).toHaveLength(0)
  await pass(1)
  expect(runs).toHaveLength(1)
  expect(commits.filter(isEmpty)).toHaveLength(1)
  runs[0]!.resolve('acted')
  await driving
  expect(await types()).toEqual(whole)
})

test('a commit that does not tell its time has the log read before what it starts', async () => {
  const { agent, runs } = acting()
  const { owner, pass, context, types } = await owningConversation(agent, [said('t1')])
  const commit = context.store.commit.bind(context.store)
  context.store.commit = async (...given) => {
    const { at: _, ...result } = (await commit(...given)) as { at?: number; ok: true; seq: number }
    return result
  }
  const driving = drive(owner)
  await pass(0)
  expect(runs).toHaveLength(1)
  runs[0]!.resolve('acted')
  await pass(50)
  await driving
  expect([await types(), runs.length]).toEqual([whole, 1])
})

test('a start whose commit was not made is committed again, and run once', async () => {
  const { agent, runs } = acting()
  const { owner, pass, meddle, types } = await owningConversation(agent, [said('t1')])
  meddle.commit = (change) => {
    if (!isStart(change)) return
    meddle.commit = () => {}
    throw new StoreError('the connection was lost', { ambiguous: true })
  }
  const driving = drive(owner)
  await pass(50)
  expect(runs).toHaveLength(1)
  runs[0]!.resolve('acted')
  await driving
  expect(await types()).toEqual(whole)
})

test('a proof that fails is made again, and one that another node has the conversation lets nothing run', async () => {
  const failing = acting()
  const one = await owningConversation(failing.agent, [said('t1')])
  let proofs = 0
  let isStarted = false
  one.meddle.commit = async (change) => {
    if (isEmpty(change) && ++proofs === 1) throw new StoreError('away')
    if (!isStart(change) || isStarted) return
    isStarted = true
    await one.store.commit(id, change)
    throw new StoreError('the connection was lost', { ambiguous: true })
  }
  const driving = drive(one.owner)
  await one.pass(50)
  expect([failing.runs.length, proofs]).toEqual([0, 1])
  expect(one.told.at(-1)).toBe('warn: checking the lease failed; trying again')
  await one.pass(100)
  expect([failing.runs.length, proofs]).toEqual([1, 2])
  failing.runs[0]!.resolve('acted')
  await driving

  const losing = acting()
  const other = await owningConversation(losing.agent, [said('t1')])
  other.meddle.commit = async (change) => {
    if (!isStart(change)) return
    other.meddle.commit = () => {}
    await other.store.commit(id, change)
    await other.store.releaseLease(id, other.epoch)
    await other.store.claimLease(id, 'two', 60_000)
    throw new StoreError('the connection was lost', { ambiguous: true })
  }
  const lost = drive(other.owner)
  await other.pass(50)
  await lost
  expect(losing.runs).toHaveLength(0)
  expect([other.owner.isLost, other.lost]).toEqual([true, [other.epoch]])
  expect(other.told.at(-1)).toBe('warn: a lease was lost: another node has taken the conversation')
})

test('a lease that another node has stops what runs, and nothing more is written', async () => {
  const { agent, runs, stopped } = acting()
  const owned = await owningConversation(agent, [said('t1')])
  const { owner, pass, store, epoch, lost, types, workingSets } = owned
  const driving = drive(owner)
  await pass(0)
  await store.releaseLease(id, epoch)
  await store.claimLease(id, 'two', 60_000)
  runs[0]!.resolve('acted')
  await driving
  expect(await types()).toEqual(whole.slice(0, 4))
  expect([owner.isLost, lost, stopped]).toEqual([true, [epoch], []])
  expect(owned.told).toEqual(['warn: a lease was lost: another node has taken the conversation'])
  expect(owned.fields).toEqual([{ tenant: 'default', id }])
  expect(owner.outcomes()).toEqual([])
  expect(workingSets.peek('default', id)).toBe(null)
})

test('a task that ends in a way it must not is told of, and ends the turn', async () => {
  const error = new Error('a defect')
  const { owner, context, told, fields, store } = await owningConversation(talking(), [said('t1')])
  // Only the failure of a failure gets out of a task.
  const { logger } = context.node
  const report = logger.error.bind(logger)
  logger.error = (message, more) => {
    if (message === 'a model call failed') throw error
    report(message, more)
  }
  context.channel.emit = () => {
    throw new Error('the first failure')
  }
  await drive(owner)
  expect(told).toEqual(['error: a task failed unexpectedly'])
  expect(fields).toEqual([{ tenant: 'default', id, error }])
  expect((await store.streamEvents(id)).at(-1)).toMatchObject({
    type: 'turn_ended',
    content: { turnId: 't1', status: 'failed', reason: 'internal_error' },
  })
})

test('what is lost is stopped at once', async () => {
  const { agent, stopped } = acting()
  const { owner, pass } = await owningConversation(agent, [said('t1')])
  const driving = drive(owner)
  await pass(0)
  owner.loseLease()
  await driving
  expect(stopped).toEqual([1])
  expect([owner.hasNews, owner.running().size]).toEqual([true, 0])
})

test('a result that the store will never take is told as such, and the turn goes on', async () => {
  const { agent, runs } = acting()
  const { owner, pass, meddle, store, told, fields, types } = await owningConversation(agent, [said('t1')])
  meddle.commit = ({ events }) => {
    if (!events.some(({ type }) => type === 'tool_result')) return
    meddle.commit = () => {}
    throw new InvalidArgumentError('value', 'is no JSON')
  }
  const driving = drive(owner)
  await pass(0)
  runs[0]!.resolve('acted')
  await driving
  expect(told).toEqual(['error: a commit was refused'])
  expect(fields).toEqual([{ tenant: 'default', id, error: new InvalidArgumentError('value', 'is no JSON') }])
  expect(await types()).toEqual(whole)
  const result = (await store.streamEvents(id)).find(({ type }) => type === 'tool_result')
  expect(result?.content).toMatchObject({ ok: false, error: expect.stringContaining('cannot be recorded') })
})

test('a conversation that was deleted, or whose store is closed, is let go', async () => {
  const { agent, runs } = acting()
  const gone = await owningConversation(agent, [said('t1')])
  const driving = drive(gone.owner)
  await gone.pass(0)
  await gone.store.deleteConversation(id)
  runs[0]!.resolve('acted')
  await driving
  expect([gone.owner.isLost, gone.lost]).toEqual([true, [gone.epoch]])

  for (const error of [new StoreClosedError(), new ConversationNotFoundError(id)]) {
    const refused = await owningConversation(talking(), [said('t1')])
    refused.meddle.commit = () => Promise.reject(error)
    await drive(refused.owner)
    expect([refused.owner.isLost, refused.told]).toEqual([true, ['error: a commit was refused']])
  }

  const unread = await owningConversation(talking(), [said('t1')])
  unread.meddle.read = () => {
    throw new StoreClosedError()
  }
  unread.owner.hint(9)
  await drive(unread.owner)
  expect([unread.owner.isLost, unread.told]).toEqual([true, ['error: the store is closed: releasing a conversation']])
})

test('what others append before a commit is read first, and the commit is decided anew', async () => {
  const { owner, meddle, store, types } = await owningConversation(talking(), [said('t1')])
  meddle.commit = async () => {
    meddle.commit = () => {}
    await store.commit(id, { events: [{ type: 'titled', content: { title: 'T' } }] })
  }
  await drive(owner)
  expect(await types()).toEqual(['user_msg', 'titled', 'assistant_msg', 'turn_ended'])
})

test('waiting for the next read ends with a hint, or after a while', async () => {
  const { owner, pass, meddle } = await owningConversation(talking(), [said('t1')])
  let reads = 0
  meddle.read = () => void (reads += 1)
  const waiting = owner.readNext(1_000)
  await pass(999)
  expect(reads).toBe(0)
  await pass(1)
  await waiting
  expect(reads).toBe(1)
  const hinted = owner.readNext(1_000)
  await pass(0)
  owner.hint(2)
  await hinted
  expect(reads).toBe(2)
  owner.hint(3)
  await owner.readNext(1_000)
  expect(reads).toBe(3)
})

test('what fails beside the log is tried again on the log as it is then', async () => {
  const { owner, pass, told } = await owningConversation(talking(), [said('t1')])
  expect(await owner.attempt('reaching failed', async () => {})).toBe(true)
  expect(owner.isBehind).toBe(false)
  expect(await owner.attempt('reaching failed', () => Promise.reject(new StoreError('away')))).toBe(false)
  expect([owner.isBehind, told]).toEqual([true, ['warn: reaching failed; trying again']])
  const read = owner.catchUp()
  await pass(50)
  await read
  expect(owner.isBehind).toBe(false)
})
