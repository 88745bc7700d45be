import { onAbort } from '../../base/abort.ts'
import { RateLimitedError } from '../../base/errors/server-errors.ts'
import type { OnProgress, Progress } from '../../upkeep/whole-store.ts'
import { jsonText } from '../answer.ts'
import { logFailure, type Problem, problemIn } from '../problem.ts'
import type { RouteCall } from '../route.ts'

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

  async function finish(): Promise<void> {
    const ignoreSignal = onAbort(request.signal, () => output.leave())
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
      ignoreSignal()
    }
  }

  await Promise.race([output.begun, works.run(finish)])
  return new Response(output.body, { headers: { ...headers, ...stream.headers?.() } })
}

function beating(output: LineOutput, text: string | undefined, everyMs: number): NodeJS.Timeout | undefined {
  return text === undefined ? undefined : setInterval(() => output.offer(text), everyMs)
}

/** Lines on their way to a client that reads them at its own pace. */
class LineOutput {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
  /** Aborted when the client is gone. */
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

  /** Resolves when the client has taken it and wants more. Rejects when it is gone. */
  async write(text: string): Promise<void> {
    this.#put(text)
    while (!this.#isWanted) {
      this.gone.throwIfAborted()
      await new Promise<void>((resolve) => {
        this.#onWanted = resolve
      })
    }
  }

  /** For what may be left out: written only where the client waits for something. */
  offer(text: string): void {
    if ((this.#isWanted || !this.#hasBegun) && !this.gone.aborted) this.#put(text)
  }

  /** What was written before is still read. */
  end(lastText: string): void {
    if (this.gone.aborted) return
    if (lastText !== '') this.#put(lastText)
    this.#controller.close()
    this.#begun()
  }

  /** The client is gone. */
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

/** What long work tells, one line of JSON each: what it found or did on the way, how far it is, and at last the result or the problem. */
type WorkLines = {
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

const retryAfterMs = 1_000

/** The work of operators that is under way. Each may hold a connection to the store for long, so there are only so many at once. */
export class MaintenanceJobs {
  readonly #limit: number
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay.size >= this.#limit) {
      const problem = `As much work of operators goes on as limits.upkeep (${this.#limit}) lets; wait for some to end`
      throw new RateLimitedError(retryAfterMs, problem)
    }
    const task = work().finally(() => this.#underWay.delete(task))
    this.#underWay.add(task)
    return task
  }

  /** Resolves when nothing uses the store any more. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }
}
