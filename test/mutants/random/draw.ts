import { seededRandom } from '../../faults/harness/seeded-random.ts'
import type { Candidate, Site } from './candidate.ts'

/** All sites in an order that the seed decides, each with one of its changes: the same for the same sources. */
export function shuffled(sites: readonly Site[], seed: number): Candidate[] {
  const random = seededRandom(seed)
  const left = [...sites]
  const drawn: Candidate[] = []
  while (left.length > 0) {
    const index = random.int(0, left.length - 1)
    const { changes } = left[index]!
    left[index] = left.at(-1)!
    left.pop()
    drawn.push(random.pick(changes))
  }
  return drawn
}
