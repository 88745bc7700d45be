import { describe, expect, test, vi } from 'vitest'
import { heldFlow, noAgents, nodeSettings, startSession, workingNode } from '../../../test/support/working-node.ts'
import { ConversationUnreadableError, StoreError } from '../../base/errors/store-errors.ts'
import { silentLogger } from '../../base/logger.ts'
import { defineFlow } from '../../define/define-flow.ts'
import type { DueClaim } from '../../store/claim-due.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import type { Store } from '../../store/store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createNode } from '../node.ts'
import type { Claims, TakenDue } from './claims.ts'
import { SkippedConversations } from './skipped-conversations.ts'
import { WorkSearch } from './work-search.ts'

const tenant = 'default'
const ref = (id: string) => ({ tenant, id })
const asks = defineFlow({ name: 'f', version: 1, run: (flow) => flow.suspend('go') })

describe('looking for work', () => {
  test('begins at the start, goes on at every poll, and ends when it is closed', async () => {
    const { worker, pass, countOf, store, types } = workingNode([asks])
    await startSession(store, 's1')
    worker.startPolling(noAgents)
    await pass(0)
    expect(countOf('claimDue')).toBe(1)
    expect(await types('s1')).toEqual(['flow_started', 'flow_opened'])
    const before = countOf('claimDue')
    await pass(30)
    expect(countOf('claimDue')).toBe(before + 3)
    await worker.close(0)
    expect(worker.isClosed).toBe(true)
    await pass(100)
    expect(countOf('claimDue')).toBe(before + 3)
  })

  test('that failed is left for a while, longer each time until it succeeds, and is told of once', async () => {
    const { worker, pass, countOf, meddle, told } = workingNode([asks])
    const fail = () => {
      throw new StoreError('away')
    }
    meddle['claimDue'] = fail
    worker.startPolling(noAgents)
    await pass(49)
    expect(countOf('claimDue')).toBe(1)
    await pass(1)
    expect(countOf('claimDue')).toBe(2)
    await pass(99)
    expect(countOf('claimDue')).toBe(2)
    meddle['claimDue'] = () => {}
    await pass(1)
    expect(countOf('claimDue')).toBe(3)
    meddle['claimDue'] = fail
    await pass(10)
    expect(countOf('claimDue')).toBe(4)
    await pass(49)
    expect(countOf('claimDue')).toBe(4)
    await pass(1)
    expect(countOf('claimDue')).toBe(5)
    expect(told).toEqual(['warn: looking for work failed; trying again'])
    await worker.close(0)
  })

  test('that fails while it is closed is not logged', async () => {
    const { worker, pass, meddle, told } = workingNode([asks])
    const answer = Promise.withResolvers<void>()
    meddle['claimDue'] = () => answer.promise
    worker.startPolling(noAgents)
    await pass(0)
    const closing = worker.close(0)
    answer.reject(new StoreError('away'))
    await closing
    await pass(0)
    expect(told).toEqual([])
  })

  test('is done once at a time; what is heard of meanwhile is looked for once more', async () => {
    const { worker, pass, countOf, meddle } = workingNode([asks], { pollMs: 60_000 })
    const answer = Promise.withResolvers<void>()
    meddle['claimDue'] = () => answer.promise
    worker.startPolling(noAgents)
    await pass(0)
    for (const seq of [1, 2, 3]) worker.hint({ ...ref('s1'), seq })
    await pass(0)
    expect(countOf('claimDue')).toBe(1)
    answer.resolve()
    await pass(0)
    expect(countOf('claimDue')).toBe(2)
    await worker.close(0)
  })

  test('misses nothing that is heard of just as a search ends', async () => {
    for (let promises = 0; promises <= 40; promises++) {
      const { worker, pass, countOf, meddle } = workingNode([asks], { pollMs: 60_000 })
      const answer = Promise.withResolvers<void>()
      meddle['claimDue'] = () => answer.promise
      worker.startPolling(noAgents)
      await pass(0)
      answer.resolve()
      for (let n = 0; n < promises; n++) await null
      worker.hint({ ...ref('s1'), seq: 1 })
      await pass(0)
      expect(countOf('claimDue'), `${promises} promises later`).toBe(2)
      await worker.close(0)
    }
  })

  test('asks for its own flows, and for as many as there is room for', async () => {
    const { flow, running, end } = heldFlow()
    const { worker, pass, store, lastQuery, countOf, types } = workingNode([flow], {
      ...{ maxConcurrentTurns: 2, pollMs: 60_000 },
    })
    worker.startPolling(noAgents)
    await pass(0)
    expect(lastQuery()).toMatchObject({ agents: ['flow:f'], limit: 2, suspects: 1, ttlMs: 9_000, except: [] })
    for (const id of ['s1', 's2', 's3']) await startSession(store, id)
    worker.hint({ ...ref('s1'), seq: 1 })
    await pass(0)
    expect(running()).toHaveLength(2)
    const before = countOf('claimDue')
    worker.hint({ ...ref('s9'), seq: 1 })
    await pass(0)
    expect(countOf('claimDue')).toBe(before)
    end(running()[0]!)
    // Found as soon as there is room again, long before the next poll.
    await pass(0)
    expect(running().toSorted()).toEqual(['s1', 's2', 's3'])
    expect(lastQuery().except).toMatchObject([{ seq: null }])
    for (const id of ['s1', 's2', 's3']) end(id)
    await pass(0)
    for (const id of ['s1', 's2', 's3']) expect((await types(id)).at(-1)).toBe('flow_ended')
    await worker.close(0)
  })

  test('passes over a row that cannot be read, and works on the others', async () => {
    const data = memoryStore({ logger: silentLogger })
    let isDamaged = true
    const problem = new ConversationUnreadableError('s1', ['settings'])
    const damaged = async (claim: DueClaim) => {
      const found = await data.claimDue(claim)
      return found.map((one) => (isDamaged && one.id === 's1' && one.type === 'taken' ? { ...one, problem } : one))
    }
    const { worker, pass, store, types, told, claims } = workingNode([asks], {
      store: { ...data, claimDue: damaged },
    })
    for (const id of ['s1', 's2']) await startSession(store, id)
    worker.startPolling(noAgents)
    await pass(4_000)
    expect(await types('s2')).toEqual(['flow_started', 'flow_opened'])
    expect(await types('s1')).toEqual(['flow_started'])
    expect(told).toEqual(['error: a conversation cannot be worked on here'])
    expect(claims()).toBe(2)
    isDamaged = false
    await pass(1_000)
    expect(await types('s1')).toEqual(['flow_started', 'flow_opened'])
    await worker.close(0)
  })

  test('is for the named conversation alone where a hint names this process, and a little later where it names another', async () => {
    const { worker, pass, store, lastQuery, countOf, types } = workingNode([asks], { pollMs: 60_000 })
    const announced: string[] = []
    const announce: Store['announce'] = ({ holder, agents }) => {
      announced.push(`here ${agents().join()}`)
      Object.assign(own, { holder })
      return () => void announced.push('gone')
    }
    const own = { holder: '' }
    Object.assign(store, { announce })
    worker.startPolling(noAgents)
    await pass(0)
    expect(announced).toEqual(['here flow:f'])
    for (const id of ['mine', 'theirs', 'nobody']) await startSession(store, id)
    const before = countOf('claimDue')
    worker.hint({ ...ref('nobody'), seq: 1, taker: null })
    await pass(0)
    expect(countOf('claimDue')).toBe(before)
    worker.hint({ ...ref('mine'), seq: 1, taker: own.holder })
    await pass(0)
    expect(lastQuery()).toMatchObject({ only: [ref('mine')], limit: 1 })
    expect([await types('mine'), await types('theirs')]).toMatchObject([{ length: 2 }, { length: 1 }])
    for (const seq of [1, 2]) worker.hint({ ...ref('theirs'), seq, taker: 'another' })
    await pass(49)
    expect(countOf('claimDue')).toBe(before + 1)
    await pass(51)
    // It was not taken by the one that was named.
    expect([countOf('claimDue'), await types('theirs')]).toMatchObject([before + 2, { length: 2 }])
    expect(lastQuery().dueForMs).toBe(40)
    await pass(1_000)
    expect(countOf('claimDue')).toBe(before + 2)
    await worker.close(0)
    expect(announced).toEqual(['here flow:f', 'gone'])
  })

  test('while it drains, it takes nothing, though there is time left for what it holds', async () => {
    const { worker, pass, store, types, countOf } = workingNode([asks])
    worker.startPolling(noAgents)
    await pass(0)
    worker.drain(60_000)
    const before = countOf('claimDue')
    await startSession(store, 's1')
    worker.hint({ ...ref('s1'), seq: 1 })
    await pass(10_000)
    expect([await types('s1'), countOf('claimDue')]).toEqual([['flow_started'], before])
    worker.drain(null)
    await pass(0)
    expect(await types('s1')).toEqual(['flow_started', 'flow_opened'])
    await worker.close(0)
  })

  test('while it drains, others do not name this process', async () => {
    const { worker, pass, store } = workingNode([asks])
    const announced: string[] = []
    const announce: Store['announce'] = () => {
      announced.push('here')
      return () => void announced.push('gone')
    }
    Object.assign(store, { announce })
    // An operator may be faster than the start.
    worker.drain(1_000)
    worker.startPolling(noAgents)
    await pass(0)
    expect(announced).toEqual([])
    worker.drain(null)
    expect(announced).toEqual(['here'])
    for (const drainMs of [1_000, 1_000, null]) worker.drain(drainMs)
    expect(announced).toEqual(['here', 'gone', 'here'])
    await worker.close(0)
    worker.drain(1_000)
    worker.drain(null)
    expect(announced).toEqual(['here', 'gone', 'here', 'gone'])
  })

  test('for named conversations takes no more than there is room for, and the others when there is', async () => {
    const { flow, running, end } = heldFlow()
    const { worker, pass, store, types, meddle } = workingNode([flow], { maxConcurrentTurns: 1, pollMs: 60_000 })
    let holder = ''
    const announce: Store['announce'] = (here) => {
      holder = here.holder
      return () => {}
    }
    Object.assign(store, { announce })
    worker.startPolling(noAgents)
    await pass(0)
    for (const id of ['s1', 's2']) await startSession(store, id)
    // Both are heard of while a claim is under way.
    const answer = Promise.withResolvers<void>()
    meddle['claimDue'] = () => answer.promise
    for (const id of ['gone', 's1', 's2']) worker.hint({ ...ref(id), seq: 1, taker: holder })
    await pass(0)
    answer.resolve()
    await pass(0)
    expect(running()).toHaveLength(1)
    end(running()[0]!)
    await pass(0)
    expect(running().toSorted()).toEqual(['s1', 's2'])
    end(running().at(-1)!)
    await pass(0)
    for (const id of ['s1', 's2']) expect((await types(id)).at(-1)).toBe('flow_ended')
    await worker.close(0)
  })

  test('for what another process was named leaves alone what is new, and looks for it once more', async () => {
    const { worker, pass, calls } = workingNode([asks], { pollMs: 60_000 })
    const asked = () => calls.flatMap(({ method, args }) => (method === 'claimDue' ? [args[0] as DueClaim] : []))
    worker.startPolling(noAgents)
    await pass(0)
    expect(asked().map(({ dueForMs }) => dueForMs)).toEqual([undefined])
    vi.spyOn(Math, 'random').mockReturnValue(0)
    worker.hint({ ...ref('one'), seq: 1, taker: 'another' })
    await pass(90)
    worker.hint({ ...ref('two'), seq: 1, taker: 'another' })
    await pass(10)
    expect(asked().map(({ dueForMs }) => dueForMs)).toEqual([undefined, 40])
    await pass(100)
    expect(asked().map(({ dueForMs }) => dueForMs)).toEqual([undefined, 40, 40])
    await pass(1_000)
    expect(asked()).toHaveLength(3)
    // What anyone is to take is looked for at once, with all that is due.
    worker.hint({ ...ref('three'), seq: 1 })
    await pass(0)
    expect(asked().at(-1)!.dueForMs).toBe(undefined)
    vi.restoreAllMocks()
    await worker.close(0)
  })

  test('tells what was heard of a conversation while it was claimed, because the claim may have seen less', async () => {
    const answers: PromiseWithResolvers<TakenDue[]>[] = []
    const takeDue = () => {
      answers.push(Promise.withResolvers())
      return answers.at(-1)!.promise
    }
    const begun: [string, number][] = []
    const node = { ...createNode(nodeSettings(memoryStore({ logger: silentLogger }), fakeClock())), pollMs: 60_000 }
    const searcher = {
      room: () => 2_000,
      held: () => [],
      begin: async ({ id }: TakenDue, hintedSeq: number) => void begun.push([id, hintedSeq]),
      onFull: () => {},
    }
    const search = new WorkSearch(
      node,
      { takeDue } as unknown as Claims,
      new SkippedConversations(silentLogger, () => 0),
      searcher,
    )
    const taken = (...ids: string[]) => ids.map((id) => ({ ...ref(id), lastSeq: 5 }) as TakenDue)
    search.heard({ ...ref('early'), seq: 9 })
    const first = search.look()
    for (const seq of [7, 6]) search.heard({ ...ref('grown'), seq })
    answers[0]!.resolve(taken('early', 'grown', 'still'))
    await first
    expect(begun.splice(0)).toEqual([
      ['early', 0],
      ['grown', 7],
      ['still', 0],
    ])
    // More than is remembered: any of them may have grown.
    const second = search.look()
    for (let n = 0; n < 1_001; n++) search.heard({ ...ref(`c${n}`), seq: 9 })
    answers[1]!.resolve(taken('still', 'c0', 'c1000'))
    await second
    expect(begun).toEqual([
      ['still', 6],
      ['c0', 9],
      ['c1000', 6],
    ])
    await search.close()
  })

  test('is stuck when none has succeeded for ten seconds, or for twenty polls', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000)
    const { worker, pass, meddle } = workingNode([asks])
    meddle['claimDue'] = () => {
      throw new StoreError('away')
    }
    worker.startPolling(noAgents)
    await pass(0)
    now.mockReturnValue(11_000)
    expect(worker.isStuck()).toBe(false)
    now.mockReturnValue(11_001)
    expect(worker.isStuck()).toBe(true)
    meddle['claimDue'] = () => {}
    await pass(200)
    expect(worker.isStuck()).toBe(false)
    const slow = workingNode([asks], { pollMs: 1_000 })
    now.mockReturnValue(31_001)
    expect(slow.worker.isStuck()).toBe(false)
    now.mockReturnValue(31_002)
    expect(slow.worker.isStuck()).toBe(true)
    now.mockRestore()
    await worker.close(0)
  })
})
