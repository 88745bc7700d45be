import { failpoint } from '../../base/failpoint.ts'
import type { Json } from '../../base/json.ts'
import { type Turn, turnOf } from '../../define/turn.ts'
import { abridge } from '../../log/abridge.ts'
import { effectiveArgs } from '../../log/call-phase.ts'
import { keptMessages } from '../../log/next-step.ts'
import type { ResultOutcome } from '../../log/settle.ts'
import type { CallState, TurnState } from '../../log/state.ts'
import { weightOf } from '../../log/weight.ts'
import { runTool } from './run-tool.ts'
import type { TurnContext } from './turn-context.ts'
import { turnRef } from './turn-ref.ts'

type Run = {
  readonly signal: AbortSignal
  readonly seq: () => number
  /** Asked just before the tool begins: false, when the log may say by now that it was interrupted. */
  readonly mayStart: () => Promise<boolean>
}

/** Runs a call whose start is in the log. Always gives a result the model can read; does not reject for anything code of others does. */
export async function runCall(
  call: CallState,
  turn: TurnState,
  context: TurnContext,
  run: Run,
): Promise<ResultOutcome['result']> {
  const result = await runOnce(call, turn, context, run)
  if (result.ok || result.outcome || call.attempts <= 1) return result
  // An earlier attempt was interrupted, so a failure now does not mean that nothing was done.
  const error = `${result.error}; an earlier attempt was interrupted and may have taken effect`
  return { ...result, error, outcome: 'unknown' }
}

async function runOnce(
  call: CallState,
  turn: TurnState,
  context: TurnContext,
  run: Run,
): Promise<ResultOutcome['result']> {
  const { agent, clock } = context
  const tool = agent.tools.find((candidate) => candidate.name === call.name)
  if (tool?.executor !== 'server') {
    const problem = tool ? `is no longer run on the server but by '${tool.executor}'` : 'is no longer there'
    return { ok: false, error: `The tool '${call.name}' ${problem}. It was not run.` }
  }
  const toolTurn = await turnOfCall(call, turn, context, run)
  if (!toolTurn) return { ok: false, error: 'It was not run: who it should run for could not be found out.' }
  failpoint('tool.before_run')
  const limits = { timeoutMs: call.timeoutMs, signal: run.signal, mayStart: run.mayStart, clock }
  const result = await runTool(tool, effectiveArgs(call), toolTurn, limits)
  failpoint('tool.after_run')
  return result
}

/** Null when the app cannot tell who acts: nothing runs without an identity. */
async function turnOfCall(
  { callId }: CallState,
  turn: TurnState,
  { scopes, channel, logger, tenant, id }: TurnContext,
  { signal, seq }: Run,
): Promise<Turn | null> {
  try {
    return turnOf({
      scope: await scopes.ofCall(turn, callId),
      turnRef: turnRef(turn.turnId, keptMessages(turn).length - 1),
      userMessage: turn.items.find((item) => item.type === 'user')?.message ?? null,
      callId,
      signal,
      reportProgress: (payload) => {
        if (!signal.aborted) channel.emit({ type: 'tool_progress', callId, payload: plainJson(payload) }, seq())
      },
    })
  } catch (error) {
    logger.error('the scope of a call could not be restored', { tenant, id, callId, error })
    return null
  }
}

/** What is shown of the progress of one call, at most. */
const progressBytes = 64 * 1024

/** Progress is shown, not kept: what is not JSON is shown as far as it is, and of what is too long only its beginning. */
function plainJson(payload: unknown): Json {
  try {
    const progress = (JSON.parse(JSON.stringify(payload) ?? 'null') ?? null) as Json
    return weightOf(progress) > progressBytes ? abridge(progress) : progress
  } catch {
    return null
  }
}
