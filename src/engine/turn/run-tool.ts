import type { Clock } from '../../base/clock.ts'
import { UserFacingError } from '../../base/errors/user-facing-error.ts'
import type { Json } from '../../base/json.ts'
import { linkSignal } from '../../base/linked-signal.ts'
import { errorText } from '../../base/redact/error-text.ts'
import { normaliseResult } from '../../define/normalise-result.ts'
import type { Tool } from '../../define/tool.ts'
import { type Turn, turnOf } from '../../define/turn.ts'
import { validate } from '../../define/validate.ts'
import type { CallEnd } from '../../log/call-phase.ts'

export type RunToolOptions = {
  /** Null: as long as it takes. */
  readonly timeoutMs: number | null
  /** Aborted when the turn is cancelled. The tool is told, and waited for. */
  readonly signal: AbortSignal
  /** Asked when nothing else is left to wait for; false: it must not begin. Default: it may. */
  readonly mayStart?: () => Promise<boolean>
  readonly clock: Clock
}

/** An error is as it was thrown, with whatever secrets are in it: it is redacted before it goes anywhere. */
export type RunResult = CallEnd

/**
 * Runs a server tool once with recorded arguments, which are checked against its schema again: the log may be older than the schema.
 * Never rejects: whatever the tool does becomes a result. After a timeout its signal is aborted and what it still does is ignored.
 */
export async function runTool(
  tool: Tool<string, unknown, unknown, 'server'>,
  args: Json,
  turn: Turn,
  { timeoutMs, signal: parent, mayStart = async () => true, clock }: RunToolOptions,
): Promise<RunResult> {
  const { signal, abort, unlink } = linkSignal(parent)
  let isStarted = false
  let isOver = false
  const toolTurn = turnOf({
    ...turn,
    signal,
    reportProgress: (payload) => {
      if (!isOver) turn.reportProgress(payload)
    },
  })

  const attempt = async (): Promise<RunResult> => {
    const checked = await validate(tool.input, args)
    if (!checked.ok) return { ok: false, error: `invalid arguments for '${tool.name}': ${checked.issues}` }
    // Whoever waited has gone, and has been told that it never ran.
    if (!(await mayStart()) || isOver || signal.aborted) return { ok: false, error: 'cancelled before it was started' }
    isStarted = true
    return normaliseResult(await tool.run(checked.value, toolTurn))
  }

  let callOff = (): void => {}
  const tooLate = new Promise<RunResult>((resolve) => {
    if (timeoutMs === null) return
    callOff = clock.after(timeoutMs, () => {
      resolve(timedOut(timeoutMs, isStarted))
      abort(new DOMException(`The tool '${tool.name}' took longer than ${timeoutMs} ms.`, 'TimeoutError'))
    })
  })

  try {
    return await Promise.race([attempt(), tooLate])
  } catch (thrown) {
    const userFacing = UserFacingError.isInstance(thrown) ? { userFacing: true as const } : {}
    return { ok: false, error: errorText(thrown), ...userFacing }
  } finally {
    isOver = true
    callOff()
    unlink()
  }
}

function timedOut(timeoutMs: number, isStarted: boolean): RunResult {
  if (!isStarted) return { ok: false, error: `it could not be started within ${timeoutMs} ms; it was not run` }
  return {
    ok: false,
    error: `timed out after ${timeoutMs} ms: its outcome is unknown; it may have taken effect`,
    outcome: 'unknown',
  }
}
