import { RequestTimedOutError } from '../../base/errors/server-errors.ts'
import { brokeOff } from '../guard/read-body.ts'

/**
 * What a client brings, for as long as it brings something: any byte within `stallMs` of being waited for will do. Whoever stops reading must not let go of
 * the connection: the answer is still to be sent on it.
 */
export async function* bodyChunks({ body }: Request, stallMs: number): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  while (reader) {
    const { done, value } = await unlessStalled(reader.read().catch(brokeOff), stallMs)
    if (done) return
    yield value
  }
}

async function unlessStalled<T>(coming: Promise<T>, stallMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const stalled = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RequestTimedOutError(stallMs, 'Nothing more of the body came')), stallMs)
  })
  try {
    return await Promise.race([coming, stalled])
  } finally {
    clearTimeout(timer)
  }
}
