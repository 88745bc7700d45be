import { expect, test } from 'vitest'
import { HeldLeases } from './lease.ts'

const held = (id: string, epoch: number, holder = 'node') => ({ tenant: 'acme', id, epoch, holder })
const known = (id: string, epoch: number) => ({ tenant: 'acme', id, epoch, seq: Number.MAX_SAFE_INTEGER })

test('the leases of a holder are those it took and has not released', () => {
  const leases = new HeldLeases()
  leases.add(held('a', 1))
  leases.add(held('b', 2))
  leases.add(held('a', 3, 'other'))
  expect(leases.of('node')).toEqual([known('a', 1), known('b', 2)])
  leases.remove(held('a', 1))
  expect(leases.of('node')).toEqual([known('b', 2)])
  expect(leases.of('other')).toEqual([known('a', 3)])
  expect(leases.of('unknown')).toEqual([])
})

test('a holder that takes one again has it under the newer epoch alone', () => {
  const leases = new HeldLeases()
  leases.add(held('a', 1))
  leases.add(held('a', 4))
  expect(leases.of('node')).toEqual([known('a', 4)])
  leases.remove(held('a', 1))
  expect(leases.of('node')).toEqual([known('a', 4)])
})

test('an epoch of another conversation or tenant releases nothing', () => {
  const leases = new HeldLeases()
  leases.add(held('a', 1))
  leases.remove(held('b', 1))
  leases.remove({ ...held('a', 1), tenant: 'other' })
  leases.remove(held('a', 2))
  expect(leases.of('node')).toHaveLength(1)
})

test('leases that were not released meanwhile are still held', () => {
  const leases = new HeldLeases()
  leases.add(held('a', 1))
  leases.add(held('b', 2))
  leases.remove(held('a', 1))
  expect(leases.withoutReleased([held('a', 1), held('b', 2), held('c', 3)])).toEqual([held('b', 2)])
})
