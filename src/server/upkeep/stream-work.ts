import type { OnProgress, Progress } from '../../upkeep/progress.ts'
import { jsonText } from '../answer.ts'
import type { RouteCall } from '../route.ts'
import { streamLines } from './stream-lines.ts'

const progressMs = 200

/** What long work tells, one line of JSON each: what it found or did on the way, how far it is, and at last the result or the problem. */
export type WorkLines = {
  /** What it returns must be waited for, so that a slow reader slows the work and fills no memory. */
  tell(type: 'finding' | 'repair' | 'difference', what: object): Promise<void>
  readonly onProgress: OnProgress
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal
}

/** Answers with what `work` tells, and with what it returns as the result. */
export function streamWork(call: RouteCall, work: (lines: WorkLines) => Promise<object>): Promise<Response> {
  let toldAt = 0
  let latest: Progress | null = null
  return streamLines(call, {
    heartbeat: '\n',
    problemLine: (problem) => lineOf('problem', { problem }),
    async work(output) {
      const result = await work({
        tell: (type, what) => output.write(lineOf(type, what)),
        onProgress(progress) {
          latest = progress
          if (performance.now() - toldAt < progressMs) return
          toldAt = performance.now()
          output.offer(lineOf('progress', progress))
        },
        signal: output.gone,
      })
      const end = latest === null ? '' : lineOf('progress', latest)
      return end + lineOf('result', result)
    },
  })
}

function lineOf(type: string, what: object): string {
  return `${jsonText({ type, ...what })}\n`
}
