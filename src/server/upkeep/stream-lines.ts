import { logFailure } from '../log-failure.ts'
import { type Problem, problemIn } from '../problem.ts'
import type { RouteCall } from '../route.ts'
import { LineOutput } from './line-output.ts'

export const linesType = 'application/x-ndjson'

export type LineStream = {
  /** Asked when the first line is there. */
  headers?(): Readonly<Record<string, string>>
  /** The last line of an answer that has begun when the work fails. Whoever reads no last line has not got all. */
  problemLine(problem: Problem): string
  /** What shows that the work goes on while there is nothing to tell. Default: nothing does. */
  readonly heartbeat?: string
  /** Returns the last line, which tells that it is done; empty where it has written that itself. Must end soon after the client is gone. */
  work(output: LineOutput): Promise<string>
}

/** Answers with the lines of long work. What fails before the first line is told as any other failure. A client that goes away stops the work. */
export async function streamLines({ request, server }: RouteCall, stream: LineStream): Promise<Response> {
  const { settings, works } = server
  const headers = { 'content-type': linesType, 'x-accel-buffering': 'no' }
  // Nobody would read it, so it is not begun.
  if (request.method === 'HEAD') return new Response(null, { headers })
  const output = new LineOutput()
  const leave = (): void => output.leave()

  async function finish(): Promise<void> {
    request.signal.addEventListener('abort', leave, { once: true })
    if (request.signal.aborted) leave()
    const heartbeat = beating(output, stream.heartbeat, settings.limits.heartbeatMs)
    try {
      output.end(await stream.work(output))
    } catch (error) {
      // Nobody is left to be told.
      if (output.gone.aborted) return
      if (!output.hasBegun) throw error
      logFailure(error, request, settings)
      output.end(stream.problemLine(problemIn(error)))
    } finally {
      clearInterval(heartbeat)
      request.signal.removeEventListener('abort', leave)
    }
  }

  await Promise.race([output.begun, works.run(finish)])
  return new Response(output.body, { headers: { ...headers, ...stream.headers?.() } })
}

function beating(output: LineOutput, text: string | undefined, everyMs: number): NodeJS.Timeout | undefined {
  return text === undefined ? undefined : setInterval(() => output.offer(text), everyMs)
}
