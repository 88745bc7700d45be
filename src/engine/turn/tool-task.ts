import { linkSignal } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { StateRefusedError } from '../../base/errors/definition-errors.ts'
import { UserFacingError } from '../../base/errors/perdure-error.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { Json } from '../../base/json.ts'
import { errorText } from '../../base/redact/redactor.ts'
import { type AgentState, checkedUpdate, readState } from '../../define/agent-state.ts'
import { isToolHalt } from '../../define/create-hook.ts'
import { normaliseResult } from '../../define/normalise-result.ts'
import type { Tool } from '../../define/tool.ts'
import { askedByTool, isAskedByTool, mostQuestions } from '../../define/tool-question.ts'
import { toolNamed } from '../../define/tool-source.ts'
import { checkTurnScope, type EngineTurn, noState, type StateUpdate, type Turn, turnOf } from '../../define/turn.ts'
import { validate } from '../../define/validate.ts'
import { abridge, weightOf } from '../../log/abridge.ts'
import { type CallEnd, effectiveArgs } from '../../log/call-phase.ts'
import { askedRound, interruptibleAttempts } from '../../log/fold-call.ts'
import { keptMessages } from '../../log/next-step.ts'
import type { CallOutcome, ResultOutcome } from '../../log/settle.ts'
import type { CallState, ConversationState, TurnState } from '../../log/state.ts'
import { contextOfCall } from '../../prompt/render/render-context.ts'
import { approvalOf } from '../scopes.ts'
import { turnRef } from './audit.ts'
import type { TurnContext } from './turn-context.ts'

type Run = {
  readonly signal: AbortSignal
  /** The log as it is now. */
  readonly state: () => ConversationState
  /** Asked just before the tool begins: false, when the log may say by now that it was interrupted. */
  readonly mayStart: () => Promise<boolean>
}

/** Runs a call whose start is in the log. Always gives a result the model can read; does not reject for anything code of others does. */
export async function runCall(call: CallState, turn: TurnState, context: TurnContext, run: Run): Promise<RanCall> {
  const updates: StateUpdate[] = []
  const outcome = await outcomeOf(call, turn, context, { ...run, updates })
  return { outcome, updates }
}

/** `updates`: what the tool set, in its order. */
type RanCall = { readonly outcome: CallOutcome; readonly updates: readonly StateUpdate[] }

async function outcomeOf(
  call: CallState,
  turn: TurnState,
  context: TurnContext,
  run: CollectingRun,
): Promise<CallOutcome> {
  const ran = await runOnce(call, turn, context, run)
  if (ran.ask) return askOutcome(call, ran)
  const mayHaveActed = !ran.ok && !ran.outcome && interruptibleAttempts(call) > 1
  if (ran.halt === undefined && !mayHaveActed) return { result: ran }
  const { halt, ...result } = ran
  const halted = halt === undefined ? {} : { halt }
  if (result.ok || !mayHaveActed) return { result, ...halted }
  // An earlier attempt was interrupted, so a failure now does not mean that nothing was done.
  const error = `${result.error}; an earlier attempt was interrupted and may have taken effect`
  return { result: { ...result, error, outcome: 'unknown' }, ...halted }
}

/** A question in place of a result. A tool that asks without end gets no more answers. */
function askOutcome({ rounds, name }: CallState, { ask, ...result }: RunResult): CallOutcome {
  if (rounds.length < mostQuestions) return { result, ...(ask ? { ask } : {}) }
  return { result: { ok: false, error: `'${name}' asked more than ${mostQuestions} times; it was not asked on` } }
}

type CollectingRun = Run & { readonly updates: StateUpdate[] }

async function runOnce(call: CallState, turn: TurnState, context: TurnContext, run: CollectingRun): Promise<RunResult> {
  const { agent, node } = context
  const tool = toolNamed(agent, call.name)
  if (tool?.executor !== 'server') {
    const problem = tool ? `is no longer run on the server but by '${tool.executor}'` : 'is no longer there'
    return { ok: false, error: `The tool '${call.name}' ${problem}. It was not run.` }
  }
  const appState = agent.state ? await stateOfCall(agent.state, context, run) : withoutState(agent)
  if (!appState) return { ok: false, error: 'It was not run: the state of the conversation does not match its schema.' }
  const toolTurn = await turnOfCall(call, turn, context, run, appState)
  failpoint('tool.before_run')
  const limits = { timeoutMs: call.timeoutMs, signal: run.signal, mayStart: run.mayStart, clock: node.clock }
  const result = await runTool(tool, effectiveArgs(call), toolTurn, limits)
  failpoint('tool.after_run')
  return result
}

/** Null when the state does not match its schema: the next model call fails the turn and says so. */
async function stateOfCall(
  definition: AgentState,
  { agent, node, ref }: TurnContext,
  { state, updates }: CollectingRun,
): Promise<ToolState | null> {
  try {
    const where = { agent: agent.name, conversationId: ref.id }
    const current = await readState(definition, state().appState?.values, where)
    return { state: current, setState: (update) => updates.push(checkedUpdate(update)) }
  } catch (error) {
    node.logger.error('the state of a conversation cannot be read', { ...ref, error })
    return null
  }
}

function withoutState({ name }: { readonly name: string }): ToolState {
  const setState = () => {
    throw new StateRefusedError(`the agent '${name}' has no 'state'; define it with one`)
  }
  return { state: noState, setState }
}

type ToolState = Pick<Turn, 'state'> & { readonly setState: (update: StateUpdate) => unknown }

/** What a tool is run with: frozen when it begins. */
type ToolTurn = EngineTurn & Pick<Turn, 'setState' | 'reportProgress'>

/** The loop has made sure that the scope can be rebuilt before it recorded that the call starts. */
async function turnOfCall(
  call: CallState,
  turn: TurnState,
  { ref, agent, scopes, live, memory }: TurnContext,
  { signal, state }: Run,
  toolState: ToolState,
): Promise<ToolTurn> {
  const { callId } = call
  const step = Math.max(0, keptMessages(turn).length - 1)
  const opened = turn.items.find((item) => item.type === 'user')
  const scope = await scopes.ofCall(turn, callId)
  checkTurnScope(scope)
  return {
    scope,
    agent: agent.name,
    conversationId: ref.id,
    turnId: turn.turnId,
    step,
    turnRef: turnRef(turn.turnId, step),
    context: () => contextOfCall(state(), callId, memory.reduction),
    userMessage: opened?.message ?? null,
    data: opened?.data ?? null,
    callId,
    approval: approvalOf(call),
    answer: answerOf(call),
    ...toolState,
    signal,
    reportProgress: (payload) => {
      if (!signal.aborted) live.emit({ type: 'tool_progress', callId, payload: plainJson(payload) }, state().lastSeq)
    },
  }
}

/** What a person answered to the newest question of the tool. */
function answerOf(call: CallState): Turn['answer'] {
  const asked = askedRound(call)
  if (asked?.resolution?.status !== 'resolved') return null
  const { value, who } = asked.resolution
  return { round: asked.round, value, state: asked.toolState ?? null, who }
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

export type RunToolOptions = {
  /** Null: as long as it takes. */
  readonly timeoutMs: number | null
  /** Aborted when the turn is cancelled. The tool gets the signal, and the turn waits for it. */
  readonly signal: AbortSignal
  /** Called last before the tool begins; false: it must not begin. Default: it may. */
  readonly mayStart?: () => Promise<boolean>
  readonly clock: Clock
}

/** An error is as it was thrown, with the secrets in it. It is redacted before it is committed or shown. */
type RunResult = CallEnd & Pick<ResultOutcome, 'halt' | 'ask'>

/**
 * Runs a server tool once with recorded arguments, which are checked against its schema again: the log may be older than the schema.
 * Never rejects: whatever the tool does becomes a result. After a timeout its signal is aborted and what it still does is ignored.
 */
export async function runTool(
  tool: Tool<string, unknown, unknown, 'server'>,
  args: Json,
  turn: ToolTurn,
  { timeoutMs, signal: parent, mayStart = async () => true, clock }: RunToolOptions,
): Promise<RunResult> {
  const { signal, abort, unlink } = linkSignal(parent)
  let isStarted = false
  let isOver = false
  const toolTurn = turnOf({
    ...turn,
    signal,
    setState: (update) => {
      if (isOver) throw new StateRefusedError('the tool has ended; call setState before it returns')
      turn.setState(update)
    },
    ask: askedByTool,
    reportProgress: (payload) => {
      if (!isOver) turn.reportProgress(payload)
    },
  })

  const attempt = async (): Promise<RunResult> => {
    const checked = await validate(tool.input, args)
    if (!checked.ok) return { ok: false, error: `invalid arguments for '${tool.name}': ${checked.issues}` }
    // The time is over, and the log says that it never ran.
    if (!(await mayStart()) || isOver || signal.aborted) return { ok: false, error: 'cancelled before it was started' }
    isStarted = true
    return resultOf(await tool.run(checked.value, toolTurn))
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

function resultOf(returned: unknown): RunResult {
  if (isAskedByTool(returned)) {
    const error = 'the tool asked a question, which could not be recorded'
    return { ok: false, error, outcome: 'ran', ask: returned.question }
  }
  if (!isToolHalt(returned)) return normaliseResult(returned)
  const { reason, result } = returned
  if (!('show' in returned)) return { ...normaliseResult(result), halt: reason }
  const error = "the tool ran and returned halt(reason, { show }), but 'show' is for post-hooks"
  return { ok: false, error, outcome: 'ran', halt: reason }
}

function timedOut(timeoutMs: number, isStarted: boolean): RunResult {
  if (!isStarted) return { ok: false, error: `it could not be started within ${timeoutMs} ms; it was not run` }
  return {
    ok: false,
    error: `timed out after ${timeoutMs} ms: its outcome is unknown; it may have taken effect`,
    outcome: 'unknown',
  }
}
