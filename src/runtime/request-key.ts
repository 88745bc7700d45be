import { createHash } from 'node:crypto'
import type { Json } from '../base/json.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import { encode } from '../log/codec.ts'
import type { Change } from '../store/change.ts'
import { checkId } from '../store/checks.ts'

/** Makes a request happen once. One without a key gets its own, so that a lost acknowledgement can be settled. */
export function requestKey(verb: string, key: string | undefined, digest: string): Pick<Change, 'key' | 'digest'> {
  return { key: key ?? `${verb}/${uuidV7()}`, digest }
}

/** Of an answer. Without a key of the caller's nothing is asked for again but by the store, and there is no digest. */
export type AnswerKey = { readonly key: string; readonly digest?: string }

/** `verb` and `given` are what the caller said, as it was said: the same key with anything else is refused. */
export function answerKey(
  key: string | undefined,
  { callId, round }: { readonly callId: string; readonly round: number },
  verb: 'approve' | 'deny' | 'answer',
  given: unknown,
): AnswerKey {
  if (key === undefined) return { key: `answer/${uuidV7()}` }
  checkId('key', key)
  return {
    key: `answer/${key}`,
    digest: digestOf(verb, callId, round, ...(given === undefined ? [] : [given as Json])),
  }
}

export function digestOf(...values: readonly Json[]): string {
  return createHash('sha256').update(encode(values)).digest('hex')
}
