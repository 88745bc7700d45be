import { expect, test } from 'vitest'
import { called, replied, said, stateOf, suspended } from '../../../test/log/story.ts'
import { InvalidArgumentError, StoreError } from '../../base/errors/store-errors.ts'
import { childIdOf } from '../../log/child-call.ts'
import { type ConversationState, emptyState } from '../../log/state.ts'
import type { WorkingSets } from '../../store/working-sets.ts'
import { childIdsBelow, loadChildren } from './child-calls.ts'

/** Waits for the children of these calls. */
const waitingFor = (...calls: string[]): ConversationState =>
  stateOf([
    said('t1'),
    replied('t1', 'm1', 1, { calls }),
    ...calls.map((callId) => called(callId, { executor: 'agent' })),
    ...calls.map((callId) => suspended(callId, 'sub_agent')),
  ])

function partsOf(logs: Record<string, ConversationState | Error>) {
  const workingSets = {
    load: async (_store: unknown, _tenant: string, id: string) => {
      const log = logs[id] ?? emptyState
      if (log instanceof Error) throw log
      return { state: log }
    },
  } as unknown as WorkingSets
  return { store: {} as never, workingSets, tenant: 't' }
}

const unreadable = Object.assign(new InvalidArgumentError('event', 'is of a later version'), { code: 'event_unknown' })

test('children are loaded with theirs; one whose log cannot be folded is left out, and the others are not', async () => {
  const grandchild = waitingFor()
  const parts = partsOf({
    [childIdOf('c1')]: unreadable,
    [childIdOf('c2')]: waitingFor('c3'),
    [childIdOf('c3')]: grandchild,
  })
  const children = await loadChildren(parts, waitingFor('c1', 'c2'))
  expect([...children.keys()]).toEqual([childIdOf('c2'), childIdOf('c3')])
  expect(children.get(childIdOf('c3'))).toBe(grandchild)
})

test('below a conversation that cannot be folded nothing is known; a store that fails is told', async () => {
  const parts = partsOf({ p: waitingFor('c1'), u: unreadable, [childIdOf('c1')]: waitingFor() })
  expect(await childIdsBelow(parts, 'p')).toEqual([childIdOf('c1')])
  expect(await childIdsBelow(parts, 'u')).toEqual([])
  await expect(childIdsBelow(partsOf({ p: new StoreError('away') }), 'p')).rejects.toMatchObject({
    code: 'store_failed',
  })
})
