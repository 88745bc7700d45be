import type { Json, JsonObject } from '../../src/base/json.ts'
import { type SeededRandom, seededRandom } from '../faults/harness/seeded-random.ts'
import { hostilePair } from './hostile-pairs.ts'
import { randomPattern, textFor } from './random-pattern.ts'
import { randomSchema } from './random-schema.ts'
import { randomValue, valueFor } from './random-value.ts'

/** A schema, and a value that is checked against it. */
export type Pair = {
  readonly kind: string
  readonly schema: JsonObject | boolean
  readonly value: Json
  /** Made to cost as much as it can. The plain validator is not asked: it may never answer. */
  readonly isHostile: boolean
}

const hostileShare = 0.12
const patternShare = 0.3

/** The same pair for the same seed and number, so that each process can make it for itself. */
export function pairOf(seed: number, number: number): Pair {
  const random = seededRandom(seed * 1_000_003 + number)
  const kind = random.next()
  if (kind < hostileShare) return { ...hostilePair(random), isHostile: true }
  if (kind < hostileShare + patternShare) return { kind: 'pattern', ...patternPair(random), isHostile: false }
  const schema = randomSchema(random)
  const value = random.chance(0.7) ? valueFor(schema, random) : randomValue(random)
  return { kind: 'schema', schema, value, isHostile: false }
}

function patternPair(random: SeededRandom): Pick<Pair, 'schema' | 'value'> {
  const pattern = randomPattern(random)
  return { schema: { pattern }, value: textFor(pattern, random) }
}
