import { failpoint } from '../failpoint/failpoint.ts'
import { createTurn } from '../hook/turn.ts'
import { effectiveArgs } from '../log/call-phase.ts'
import type { Json } from '../log/json.ts'
import { keptMessages } from '../log/next-step.ts'
import type { ResultOutcome } from '../log/settle.ts'
import type { CallState, TurnState } from '../log/state.ts'
import { runTool } from '../tool/run-tool.ts'
import type { TurnContext } from './turn-context.ts'
import { turnRef } from './turn-ref.ts'

type Run = { readonly signal: AbortSignal; readonly seq: () => number }

/** Runs a call whose start is in the log. Always gives a result the model can read. */
export async function runCall(
  call: CallState,
  turn: TurnState,
  context: TurnContext,
  { signal, seq }: Run,
): Promise<ResultOutcome['result']> {
  const { agent, clock, scopes, channel } = context
  const tool = agent.tools.find((candidate) => candidate.name === call.name)
  if (tool?.executor !== 'server') {
    const problem = tool ? `is no longer run on the server but by '${tool.executor}'` : 'is no longer there'
    return { ok: false, error: `The tool '${call.name}' ${problem}. It was not run.` }
  }
  const userMessage = turn.items.find((item) => item.type === 'user')?.message ?? null
  const toolTurn = createTurn({
    scope: await scopes.ofCall(turn, call.callId),
    turnRef: turnRef(turn.turnId, keptMessages(turn).length - 1),
    userMessage,
    callId: call.callId,
    signal,
    reportProgress: (payload) => {
      if (!signal.aborted)
        channel.emit({ type: 'tool_progress', callId: call.callId, payload: plainJson(payload) }, seq())
    },
  })
  failpoint('tool.before_run')
  const result = await runTool(tool, effectiveArgs(call), toolTurn, { timeoutMs: call.timeoutMs, signal, clock })
  failpoint('tool.after_run')
  return result
}

/** Progress is shown, not kept: what is not JSON is shown as far as it is. */
function plainJson(payload: unknown): Json {
  try {
    return (JSON.parse(JSON.stringify(payload) ?? 'null') ?? null) as Json
  } catch {
    return null
  }
}
