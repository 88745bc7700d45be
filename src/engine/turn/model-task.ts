import { unlessAborted } from '../../base/abort.ts'
import { failpoint } from '../../base/failpoint.ts'
import { uuidV7 } from '../../base/uuid-v7.ts'
import { readState } from '../../define/agent-state.ts'
import { modelRef, type StreamChunk } from '../../define/language-model.ts'
import { type Turn, turnOf } from '../../define/turn.ts'
import type { AttemptDiscarded, UserPart } from '../../log/events.ts'
import type { Step } from '../../log/next-step.ts'
import type { CancelOutcome, Outcome } from '../../log/settle.ts'
import { type ConversationState, findTurn, type TurnState } from '../../log/state.ts'
import type { DiscardedAttempt } from '../../model/call-model.ts'
import { streamModel } from '../../model/stream-model.ts'
import { calibrate, countParts, estimateTokens } from '../../prompt/budget/count-tokens.ts'
import type { ShapedBy } from '../../prompt/explain.ts'
import { blobsNeeded, renderContext } from '../../prompt/render/render-context.ts'
import { shapedAgent, shapeProblem } from '../../prompt/shaped-prompt.ts'
import type { Delta, LiveContent } from '../../view/view.ts'
import type { ModelGate, RunningCall } from '../limits/model-gate.ts'
import { auditAttempts, turnRef } from './audit.ts'
import { startSummary } from './background-calls.ts'
import { chooseModel } from './choose-model.ts'
import { failureReason, finishMessage, type Streamed } from './finish-message.ts'
import { nextPrompt, noBlobs, type PreparedCall, readBlobs } from './next-prompt.ts'
import { observeBeginning } from './observed-turns.ts'
import { modelTools } from './prepare-call.ts'
import { type PreHookOptions, runPreHooks } from './run-hooks.ts'
import type { TurnContext } from './turn-context.ts'

type ModelTask = {
  readonly turnId: string
  abort(): void
  /** What came of it; a partial message when it was aborted, null when there is none. Does not reject for anything a hook or provider does. */
  readonly ended: Promise<Outcome | Postponed | null>
}

/** The provider asked to wait: the turn is released until then. */
type Postponed = { readonly type: 'postponed'; readonly inMs: number }

/** What the task needs of the loop: the log as it is now, and a way to commit an outcome before it continues. */
type Loop = {
  state(): ConversationState
  submit(outcome: Outcome): Promise<boolean>
}

type ModelStep = Extract<Step, { type: 'model' }>

/** One model call of a turn: pre-hooks, rendering, the stream, the calls and the verdict on the message. */
function callModel(step: ModelStep, context: TurnContext, loop: Loop, counted: RunningCall | null): ModelTask {
  const controller = new AbortController()
  const running = run(step, context, loop, { signal: controller.signal, counted })
  const ended = running.catch((error: unknown): Outcome | null => {
    if (controller.signal.aborted) return null
    const { node, ref } = context
    node.logger.error('a model call failed', { ...ref, turnId: step.turnId, error })
    return { type: 'end', turnId: step.turnId, status: 'failed', reason: failureReason(error) }
  })
  if (counted) void ended.then((outcome) => counted.end(outcome?.type === 'message' && outcome.status === 'complete'))
  return { turnId: step.turnId, abort: () => controller.abort(), ended }
}

/** `counted`: null where the agent has no account. */
type Running = { readonly signal: AbortSignal; readonly counted: RunningCall | null }

async function run(
  step: ModelStep,
  context: TurnContext,
  loop: Loop,
  { signal, counted }: Running,
): Promise<Outcome | Postponed | null> {
  const { agent, live, memory } = context
  const { clock, redact } = context.node
  live.emit({ type: 'phase_changed', phase: 'preparing' }, loop.state().lastSeq)
  if (context.node.observer) observeBeginning(context, stateOfTurn(loop.state(), step.turnId), step)
  const prepared = await unlessAborted(prepare(step, context, loop, signal), signal)
  if (prepared.type === 'halt') return { type: 'end', turnId: step.turnId, status: 'halted', reason: prepared.reason }

  const { turn, call, shaped } = prepared
  const { model } = call
  const state = loop.state()
  const turnState = stateOfTurn(state, step.turnId)
  const next = await nextPrompt(state, call, context, signal)
  const { prompt, estimated, reduction, prefix, toSummarise } = next
  if (toSummarise.length > 0) startSummary(toSummarise, state.lastSeq, context)
  const ref = turnRef(step.turnId, step.step)
  const audit = auditAttempts(context, { turnRef: ref, prompt, seen: state.lastSeq, reduction, prefix, shaped })
  const written = new LiveMessage(context, loop, step.turnId)
  let putOffMs: number | null = null
  failpoint('model.before_call')
  const message = await streamModel(
    {
      models: [model, ...agent.fallbackModels],
      prompt: (called) => prompt(modelRef(called)),
      tools: modelTools(call.agent.tools, model.provider),
      settings: call.agent.settings,
      ...(turnState.options.output ? { output: { schema: turnState.options.output } } : {}),
      retry: agent.retry,
      timeouts: agent.timeouts,
      signal,
      clock,
      newCallId: () => uuidV7(clock.now()),
      transformChunk: agent.transformChunk,
      onAttempt: (attempt) => {
        counted?.onAttempt(attempt)
        audit.onAttempt(attempt)
      },
      ...(counted
        ? {
            onRateLimited: (refusal) => {
              putOffMs = counted.onRateLimited(refusal)
              return putOffMs !== null
            },
          }
        : {}),
      onDiscard: (attempt) => written.discard(attempt),
      redact,
    },
    (chunk) => written.add(chunk),
  )
  failpoint('model.after_stream')
  if (putOffMs !== null) {
    await audit.written()
    return { type: 'postponed', inMs: putOffMs }
  }
  memory.calibration = calibrate(memory.calibration, estimated, message.usage.inputTokens)
  const { toolSet } = call.agent
  const streamed = { ...written.end(), message, seen: state.lastSeq, turn, turnState, toolSet }
  const finished = finishMessage(streamed, context, signal)
  const [outcome] = await Promise.all([finished, audit.written()])
  return outcome
}

type Prepared =
  | { type: 'go'; turn: Turn; call: PreparedCall; shaped: readonly ShapedBy[] }
  | { type: 'halt'; reason: string }

/** Runs the pre-hooks. What a durable one adds is in the log before the model is called. */
async function prepare(step: ModelStep, context: TurnContext, loop: Loop, signal: AbortSignal): Promise<Prepared> {
  const { ref, scopes } = context
  const { clock, logger } = context.node
  const sourced = context.tools.agentFor(step.turnId)
  const agent = sourced instanceof Promise ? await sourced : sourced
  const state = loop.state()
  const turnState = stateOfTurn(state, step.turnId)
  const opened = turnState.items.find((item) => item.type === 'user')
  const bare = {
    scope: await scopes.ofStep(turnState),
    agent: agent.name,
    conversationId: ref.id,
    turnId: step.turnId,
    step: step.step,
    turnRef: turnRef(step.turnId, step.step),
    userMessage: opened?.message ?? null,
    data: opened?.data ?? null,
    ...(agent.state ? { state: await readState(agent.state, state.appState?.values, whereOf(context)) } : {}),
    signal,
  }
  const { instructions } = agent
  const system = typeof instructions === 'function' ? await instructions(turnOf(bare)) : instructions
  const model = typeof agent.model === 'function' ? await chooseModel(context, turnOf(bare)) : agent.model
  const preHooks = agent.hooks.filter((hook) => hook.phase === 'pre')
  const { reduction, endedTurns: ended } = context.memory
  const needed = preHooks.length === 0 ? [] : blobsNeeded(state, reduction, [], ended)
  const blobs = needed.length === 0 ? noBlobs : await readBlobs(needed, context, signal)
  const turn = turnOf({
    ...bare,
    context: () => {
      const rendering = { system, model: modelRef(model), reduction, ended }
      const files = preHooks.length === 0 ? 'named' : blobs
      return renderContext(withoutInjections(state, turnState, step.step), { ...rendering, blobs: files })
    },
  })
  const call = { system, model, agent, injections: turn.injections, messages: null, blobs }
  if (preHooks.length === 0) return { type: 'go', turn, call, shaped: [] }
  const countTokens = (parts: readonly UserPart[]) => countParts(parts, agent.context.tokenizer ?? estimateTokens)
  const result = await runPreHooks(preHooks, turn, {
    hookTimeoutMs: agent.hookTimeoutMs,
    injectionReserve: agent.context.injectionReserve,
    countTokens,
    durableInjections: durableInjections(turnState, step.step),
    earlier: earlierInjections(turnState, step.step, countTokens),
    shapeProblem: (shape) => shapeProblem(agent, shape),
    onDurable: async (hook, parts) => {
      const isKept = await loop.submit({ type: 'injection', turnId: step.turnId, step: step.step, hook, parts })
      if (!isKept) throw new DOMException('the turn has ended', 'AbortError')
    },
    logger,
    clock,
  })
  if (result.type === 'halt') return { type: 'halt', reason: result.reason }
  const { shaped } = result
  const { shape } = result.turn
  const shaping = shaped.findLast(({ messages }) => messages !== undefined)
  const messages = shape?.messages && shaping ? { given: shape.messages, hook: shaping.hook } : null
  // What is in the log is rendered from there, unless a hook has given the messages itself.
  const durable = new Set(preHooks.filter((hook) => hook.durable).map((hook) => hook.name))
  const atTheEnd = result.injections.filter(({ hook }) => messages !== null || !durable.has(hook))
  const injections = atTheEnd.flatMap(({ parts }) => parts)
  return {
    type: 'go',
    turn: turnOf({ ...result.turn, injections }),
    call: { ...call, agent: shapedAgent(agent, shape), injections, messages },
    shaped,
  }
}

/** The log without what hooks have added to this very call, also where a process before this one has run them. */
function withoutInjections(state: ConversationState, turn: TurnState, step: number): ConversationState {
  const isOfStep = (item: TurnState['items'][number]): boolean => item.type === 'injection' && item.step === step
  if (!turn.items.some(isOfStep)) return state
  const items = turn.items.filter((item) => !isOfStep(item))
  return { ...state, turns: state.turns.map((other) => (other === turn ? { ...turn, items } : other)) }
}

function whereOf({ agent, ref }: TurnContext): { readonly agent: string; readonly conversationId: string } {
  return { agent: agent.name, conversationId: ref.id }
}

function durableInjections(turn: TurnState, step: number): Map<string, readonly UserPart[]> {
  const known = new Map<string, readonly UserPart[]>()
  for (const item of turn.items) if (item.type === 'injection' && item.step === step) known.set(item.hook, item.parts)
  return known
}

/** What durable hooks have added at earlier steps of the turn, which is in every prompt of it. */
function earlierInjections(
  turn: TurnState,
  step: number,
  countTokens: (parts: readonly UserPart[]) => number,
): PreHookOptions['earlier'] {
  const earlier = turn.items.filter((item) => item.type === 'injection').filter((item) => item.step < step)
  const tokens = earlier.reduce((sum, { parts }) => sum + countTokens(parts), 0)
  return { hooks: new Set(earlier.map(({ hook }) => hook)), tokens }
}

/** The message as watchers see it while it is written: one attempt at a time, each with an id of its own. */
class LiveMessage {
  readonly #context: TurnContext
  readonly #loop: Loop
  readonly #turnId: string
  /** The commit shows what the hooks have passed; nothing is shown before. */
  readonly #isHeldBack: boolean
  readonly #discarded: Omit<AttemptDiscarded, 'turnId'>[] = []
  #messageId: string
  #attempt = 1
  #n = 0

  constructor(context: TurnContext, loop: Loop, turnId: string) {
    const { agent, node } = context
    this.#context = context
    this.#loop = loop
    this.#turnId = turnId
    this.#isHeldBack = agent.reveal === 'judged' && agent.hooks.some((hook) => hook.phase === 'post')
    this.#messageId = uuidV7(node.clock.now())
  }

  add(chunk: StreamChunk): void {
    this.#n += 1
    const { live } = this.#context
    const seq = this.#loop.state().lastSeq
    if (this.#n === 1) live.emit({ type: 'phase_changed', phase: 'streaming' }, seq)
    if (!this.#isHeldBack) live.emit(deltaOf(chunk, this.#place()), seq)
    failpoint('model.during_stream')
  }

  /** The attempt broke off: what watchers saw of it is withdrawn before the next one begins. */
  discard(attempt: DiscardedAttempt): void {
    const { live, node } = this.#context
    const messageId = this.#messageId
    this.#discarded.push({ messageId, ...attempt })
    if (this.#n > 0) {
      const seq = this.#loop.state().lastSeq
      if (!this.#isHeldBack) live.emit({ type: 'message_discarded', turnId: this.#turnId, messageId }, seq)
      live.emit({ type: 'phase_changed', phase: 'preparing' }, seq)
    }
    this.#messageId = uuidV7(node.clock.now())
    this.#attempt += 1
    this.#n = 0
    failpoint('model.after_break')
  }

  /** The id of the attempt that counts, and those before it. */
  end(): Pick<Streamed, 'messageId' | 'discarded'> {
    return { messageId: this.#messageId, discarded: this.#discarded }
  }

  #place(): Pick<Delta, 'turnId' | 'messageId' | 'n' | 'attempt'> {
    const place = { turnId: this.#turnId, messageId: this.#messageId, n: this.#n }
    return this.#attempt === 1 ? place : { ...place, attempt: this.#attempt }
  }
}

function deltaOf(chunk: StreamChunk, place: Pick<Delta, 'turnId' | 'messageId' | 'n' | 'attempt'>): LiveContent {
  const { delta } = chunk
  if (chunk.type !== 'tool_input_delta') return { type: chunk.type, ...place, part: chunk.id, delta }
  const { callId, name } = chunk
  return { type: 'tool_input_delta', ...place, part: callId, delta, callId, name }
}

function stateOfTurn(state: ConversationState, turnId: string): TurnState {
  const turn = findTurn(state, turnId)
  if (!turn) throw new Error(`turn '${turnId}' is not in the log it was taken from`)
  return turn
}

type Reports = {
  outcome(outcome: Outcome): void
  postponed(inMs: number): void
  crashed(error: unknown): void
}

/** The model call this process makes for one conversation: at most one. */
export class RunningModel {
  readonly #context: TurnContext
  readonly #loop: Loop
  readonly #reports: Reports
  #task: ModelTask | null = null

  constructor(context: TurnContext, loop: Loop, reports: Reports) {
    this.#context = context
    this.#loop = loop
    this.#reports = reports
  }

  get isRunning(): boolean {
    return this.#task !== null
  }

  /** Does nothing while one runs. `gate`: counts it, where the agent has an account. */
  start(step: Extract<Step, { type: 'model' }>, gate: ModelGate | null): void {
    if (this.#task) return
    const task = callModel(step, this.#context, this.#loop, gate?.begin() ?? null)
    this.#task = task
    task.ended.then(
      (outcome) => {
        if (this.#task !== task) return
        this.#task = null
        if (outcome?.type === 'postponed') this.#reports.postponed(outcome.inMs)
        else if (outcome) this.#reports.outcome(outcome)
      },
      (error) => this.#reports.crashed(error),
    )
  }

  /** Aborts it; whatever it still says is not reported, but returned. */
  async stop(): Promise<Outcome | null> {
    const task = this.forget()
    task?.abort()
    const ended = await task?.ended
    return ended && ended.type !== 'postponed' ? ended : null
  }

  /** Aborts it for a cancel: its message ends with the text received so far. */
  async cutOff(): Promise<Pick<CancelOutcome, 'partial'>> {
    const ended = await this.stop()
    if (ended?.type !== 'message') return {}
    // A message that was finished is settled as such, and `settle` knows that its turn is being cancelled.
    const { type: _, status: __, verdict: ___, failure: ____, ...partial } = ended
    return { partial }
  }

  /** Stops a call for a turn that is no longer open: its answer would have no place. */
  stopUnlessFor(turnId: string | null): void {
    if (this.#task && this.#task.turnId !== turnId) void this.stop()
  }

  forget(): ModelTask | null {
    const task = this.#task
    this.#task = null
    return task
  }
}
