import { onAbort } from '../../base/abort.ts'
import { RateLimitedError } from '../../base/errors/server-errors.ts'
import { jsonText } from '../../log/codec.ts'
import type { OnProgress, Progress } from '../../upkeep/maintenance.ts'
import { logFailure, type Problem, problemIn } from '../problem.ts'
import type { RouteCall } from '../route.ts'

export const linesType = 'application/x-ndjson'

export type LineStream = {
  /** Called when the first line is ready. */
  headers?(): Readonly<Record<string, string>>
  /** The last line when the work fails after the response has begun. A response without a last line is incomplete. */
  problemLine(problem: Problem): string
  /** Sent while there is nothing to report, to show that the work continues. Default: nothing is sent. */
  readonly heartbeat?: string
  /** Returns the last line, or '' when the work has written it. Must end soon after the client disconnects. */
  work(output: LineOutput): Promise<string>
}

/**
 * Responds with the output of long work, line by line. A failure before the first line becomes an error response. The
 * work stops when the client disconnects.
 */
export async function streamLines({ request, server }: RouteCall, stream: LineStream): Promise<Response> {
  const { settings, maintenanceJobs } = server
  const headers = { 'content-type': linesType, 'x-accel-buffering': 'no' }
  // A HEAD request starts no work.
  if (request.method === 'HEAD') return new Response(null, { headers })
  const output = new LineOutput()

  async function finish(): Promise<void> {
    const ignoreSignal = onAbort(request.signal, () => output.leave())
    const heartbeat = startHeartbeat(output, stream.heartbeat, settings.limits.heartbeatMs)
    try {
      output.end(await stream.work(output))
    } catch (error) {
      // There is no client to report to.
      if (output.gone.aborted) return
      if (!output.hasBegun) throw error
      logFailure(error, request, settings)
      output.end(stream.problemLine(problemIn(error)))
    } finally {
      clearInterval(heartbeat)
      ignoreSignal()
    }
  }

  await Promise.race([output.begun, maintenanceJobs.run(finish)])
  return new Response(output.body, { headers: { ...headers, ...stream.headers?.() } })
}

function startHeartbeat(output: LineOutput, text: string | undefined, everyMs: number): NodeJS.Timeout | undefined {
  return text === undefined ? undefined : setInterval(() => output.offer(text), everyMs)
}

/** Lines for a client that reads at its own pace. */
class LineOutput {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal
  /** Resolves with the first line. */
  readonly begun: Promise<void>
  readonly #leaving = new AbortController()
  readonly #encoder = new TextEncoder()
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>
  #begin!: () => void
  #hasBegun = false
  #isWanted = false
  #onWanted: (() => void) | null = null

  constructor() {
    this.gone = this.#leaving.signal
    this.begun = new Promise((resolve) => {
      this.#begin = resolve
    })
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => {
          this.#isWanted = true
          this.#onWanted?.()
        },
        cancel: () => this.leave(),
      },
      { highWaterMark: 0 },
    )
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Resolves when the client has read the text and wants more. Rejects when it has disconnected. */
  async write(text: string): Promise<void> {
    this.#put(text)
    while (!this.#isWanted) {
      this.gone.throwIfAborted()
      await new Promise<void>((resolve) => {
        this.#onWanted = resolve
      })
    }
  }

  /** Writes the text only if the client is waiting; otherwise drops it. */
  offer(text: string): void {
    if ((this.#isWanted || !this.#hasBegun) && !this.gone.aborted) this.#put(text)
  }

  /** The client still receives what was written before. */
  end(lastText: string): void {
    if (this.gone.aborted) return
    if (lastText !== '') this.#put(lastText)
    this.#controller.close()
    this.#begun()
  }

  /** Must be called when the client has disconnected. */
  leave(): void {
    const reason = new Error('the client is gone')
    this.#leaving.abort(reason)
    this.#controller.error(reason)
    this.#onWanted?.()
  }

  #put(text: string): void {
    this.gone.throwIfAborted()
    this.#isWanted = false
    this.#controller.enqueue(this.#encoder.encode(text))
    this.#begun()
  }

  #begun(): void {
    this.#hasBegun = true
    this.#begin()
  }
}

const progressMs = 200

/** Reports of long work, one JSON line each: findings and changes, progress, and finally the result or the problem. */
type WorkLines = {
  /** Must be awaited, so that a slow reader slows down the work instead of filling memory. */
  tell(type: 'finding' | 'repair' | 'difference', what: object): Promise<void>
  readonly onProgress: OnProgress
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal
}

/** Responds with the reports of `work`, followed by its result. */
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

const retryAfterMs = 1_000

/**
 * The maintenance jobs of operators that are running. Each may hold a store connection for a long time, so their number
 * is limited.
 */
export class MaintenanceJobs {
  readonly #limit: number
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay.size >= this.#limit) {
      const problem = `Too many maintenance jobs are running (limits.upkeep is ${this.#limit})`
      throw new RateLimitedError(retryAfterMs, problem)
    }
    const task = work().finally(() => this.#underWay.delete(task))
    this.#underWay.add(task)
    return task
  }

  /** Resolves when no job uses the store. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }
}
