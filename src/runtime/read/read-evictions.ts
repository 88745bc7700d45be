import { readMembers } from '../../base/errors/read-given.ts'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import type { Json } from '../../base/json.ts'
import { decode, encode } from '../../log/codec.ts'
import type { Eviction } from '../../prompt/evictions.ts'
import type { ModelCall } from '../../store/model-call.ts'

/** What a model call left out, as its audit row has it. A copy, which is plain JSON of the right shape. */
export function readEvictions(given: Pick<ModelCall, 'evictions'>): Json {
  const { evictions = null } = readMembers('model call', given, ['evictions'])
  const copy = decode(encode(evictions, 'evictions'))
  if (copy !== null && !isEvictions(copy)) {
    throw new InvalidArgumentError('evictions', 'are not those of a model call; pass one of modelCalls()')
  }
  return copy
}

function isEvictions(value: Json): boolean {
  const { seen = 0, evicted = [] } = Object(value) as { seen?: unknown; evicted?: unknown }
  return typeof seen === 'number' && Array.isArray(evicted) && evicted.every(isEviction)
}

function isEviction(value: unknown): value is Eviction {
  return typeof value === 'object' && value !== null
}
