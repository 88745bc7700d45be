import { expect, test } from 'vitest'
import { exchangesAfter, forkTree, lastCommon } from './lineage.ts'
import { ended, madeLog, said, wrote } from './made-log.ts'

const root = { id: 'root', lineage: [] }
const fork = { id: 'fork', lineage: [{ id: 'root', at: 10 }] }
const ofFork = {
  id: 'of-fork',
  lineage: [
    { id: 'fork', at: 14 },
    { id: 'root', at: 10 },
  ],
}
const early = { id: 'early', lineage: [{ id: 'root', at: 4 }] }

test.each([
  [fork, root, { id: 'root', seq: 10 }],
  [root, fork, { id: 'root', seq: 10 }],
  [ofFork, fork, { id: 'fork', seq: 14 }],
  [ofFork, root, { id: 'root', seq: 10 }],
  [ofFork, early, { id: 'root', seq: 4 }],
  [
    {
      id: 'deep',
      lineage: [
        { id: 'fork', at: 6 },
        { id: 'root', at: 10 },
      ],
    },
    root,
    { id: 'root', seq: 6 },
  ],
  [root, { id: 'other', lineage: [] }, null],
])('the last common event of %j and %j is %j', (one, other, common) => expect(lastCommon(one, other)).toEqual(common))

test('the tree has every known fork below the one it was made from, and survives a circle', () => {
  const record = (id: string, parent: { id: string; at: number } | null) => ({ id, title: null, lastSeq: 20, parent })
  const tree = forkTree(ofFork, [
    record('of-fork', { id: 'fork', at: 14 }),
    record('fork', { id: 'root', at: 10 }),
    record('early', { id: 'root', at: 4 }),
    record('root', { id: 'of-fork', at: 1 }),
  ])
  expect(tree.id).toBe('root')
  expect(tree.forks.map(({ id, at }) => [id, at])).toEqual([
    ['early', 4],
    ['fork', 10],
  ])
  expect(tree.forks[1]!.forks.map(({ id }) => id)).toEqual(['of-fork'])
})

test('what two logs say after their common events, without what a hook sent back', () => {
  const log = madeLog(
    ...[said('t0', 'before'), wrote('t0', 'm0', 'old'), ended('t0')],
    ...[
      said('t1', 'ask'),
      wrote('t1', 'm1', 'wrong'),
      ['regeneration', { messageId: 'm1', n: 1, feedback: '' }] as const,
    ],
    ...[wrote('t1', 'm2', 'right'), ended('t1')],
  )
  expect(exchangesAfter(log, 3)).toEqual([{ seq: 4, asked: 'ask', answered: 'right' }])
})
