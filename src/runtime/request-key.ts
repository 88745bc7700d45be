import { createHash } from 'node:crypto'
import { uuidV7 } from '../id/uuid-v7.ts'
import { encode } from '../log/codec.ts'
import type { Json } from '../log/json.ts'
import type { Change } from '../store/change.ts'

/** Makes a request happen once. One without a key gets its own, so that a lost acknowledgement can be settled. */
export function requestKey(verb: string, key: string | undefined, digest: string): Pick<Change, 'key' | 'digest'> {
  return { key: key ?? `${verb}/${uuidV7()}`, digest }
}

export function digestOf(...values: readonly Json[]): string {
  return createHash('sha256').update(encode(values)).digest('hex')
}
