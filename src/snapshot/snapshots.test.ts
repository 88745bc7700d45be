import { expect, test } from 'vitest'
import { said, stateOf } from '../../test/log/story.ts'
import { silentLogger } from '../base/logger.ts'
import type { ScopeSource } from '../define/scope.ts'
import { emptyState } from '../log/state.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import type { Persistence } from './persistence.ts'
import { Snapshots } from './snapshots.ts'

const context = { agentId: 'support', conversationId: 'chat' }
const none = async () => null as never
const user = () => 'ann'
const scopes: ScopeSource = {
  canFail: false,
  ofTurn: none,
  ofStep: none,
  ofCall: none,
  ofSystem: none,
  whoOfStep: user,
  whoOfCall: user,
}
const subject = {
  ...context,
  scopes,
  workingSet: { state: stateOf([said('t1')]), origin: { summary: null } },
  store: { standing: async () => null } as never,
}

/** Snapshots of an application whose two functions return this. */
function answering(result: unknown) {
  const clock = fakeClock()
  const warned: [message: string, fields: unknown][] = []
  const logger = { ...silentLogger, warn: (message: string, fields?: object) => void warned.push([message, fields]) }
  const answer = () => result
  const persistence = { loadState: answer, persistState: answer } as unknown as Persistence
  return { snapshots: new Snapshots(persistence, { clock, logger, timeoutMs: 50 }), warned, clock }
}

test.each([
  ['an error that is returned', new Error('disk full'), new Error('disk full')],
  ['a result that says why', { ok: false, error: 'disk full' }, 'disk full'],
])('%s is a failure', async (_, result, error) => {
  const { snapshots, warned } = answering(result)
  await expect(snapshots.load(null, context as never)).rejects.toMatchObject({ cause: error })
  await snapshots.persist('turn_end' as never, subject)
  expect(warned).toEqual([['a snapshot was not persisted', { ...context, lifecycle: 'turn_end', error }]])
})

test('a failure without a reason names the function that reported it', async () => {
  const { snapshots, warned } = answering({ ok: false })
  await expect(snapshots.load(null, context as never)).rejects.toMatchObject({
    cause: new Error('loadState reported a failure'),
  })
  await snapshots.persist('turn_end' as never, subject)
  expect(warned).toMatchObject([[expect.any(String), { error: new Error('persistState reported a failure') }]])
})

test('an application that does not answer in time has failed', async () => {
  const { snapshots, warned, clock } = answering(new Promise(() => {}))
  const loading = expect(snapshots.load(null, context as never)).rejects.toMatchObject({
    cause: new Error('it took longer than 50 ms'),
  })
  const persisting = snapshots.persist('turn_end' as never, subject)
  await clock.advance(50)
  await Promise.all([loading, persisting])
  expect(warned).toMatchObject([['a snapshot was not persisted', { error: new Error('it took longer than 50 ms') }]])
})

test('a snapshot that cannot be read is told of, and the conversation begins without it', async () => {
  const { snapshots, warned } = answering({ version: 'other' })
  expect(await snapshots.load(null, context as never)).toBe(null)
  expect(warned).toEqual([
    ['a snapshot cannot be used; the conversation begins without it', { ...context, problem: expect.any(String) }],
  ])
  for (const nothing of [null, undefined]) {
    const without = answering(nothing)
    expect([await without.snapshots.load(null, context as never), without.warned]).toEqual([null, []])
  }
})

test('a conversation that was deleted is not persisted', async () => {
  const { snapshots, warned } = answering({ ok: false })
  await snapshots.persist('turn_end' as never, { ...subject, workingSet: { ...subject.workingSet, state: emptyState } })
  expect(warned).toEqual([])
})
