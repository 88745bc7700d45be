import { RemoteError, type RemoteProblem, ServerUnreachableError } from '../../base/errors/server-errors.ts'
import type { OnProgress, Progress } from '../../upkeep/progress.ts'
import { readLines } from '../../upkeep/read-lines.ts'

export type Follower = {
  readonly onProgress?: OnProgress | undefined
  /** Told of each line that is neither progress nor the end. */
  onLine?(type: string, what: unknown): unknown
}

/** Reads what a server tells of long work. Returns the result, and null when the lines ended without one; throws the problem that they end with. */
export async function followWork<T>(
  chunks: AsyncIterable<Uint8Array>,
  { onProgress, onLine }: Follower = {},
): Promise<T | null> {
  for await (const { text } of readLines(chunks)) {
    // An empty line shows that the work goes on; one without an end is cut off.
    if (text === '\n' || !text.endsWith('\n')) continue
    const { type, ...what } = parsed(text)
    if (type === 'result') return what as T
    if (type === 'problem') throw new RemoteError((what as unknown as { problem: RemoteProblem }).problem)
    if (type === 'progress') onProgress?.(what as unknown as Progress)
    else await onLine?.(type, what)
  }
  return null
}

function parsed(text: string): { readonly type: string } {
  try {
    return JSON.parse(text) as { readonly type: string }
  } catch (cause) {
    throw new ServerUnreachableError('its answer is not made of lines of JSON', { cause })
  }
}
