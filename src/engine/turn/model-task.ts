import { unlessAborted } from '../../base/abort.ts'
import { failpoint } from '../../base/failpoint.ts'
import { uuidV7 } from '../../base/uuid-v7.ts'
import { modelRef, type StreamChunk } from '../../define/language-model.ts'
import { type Turn, turnOf } from '../../define/turn.ts'
import type { UserPart } from '../../log/events.ts'
import type { Step } from '../../log/next-step.ts'
import type { CancelOutcome, Outcome } from '../../log/settle.ts'
import { type ConversationState, findTurn, type TurnState } from '../../log/state.ts'
import { streamModel } from '../../model/stream-model.ts'
import { calibrate, countParts, estimateTokens } from '../../prompt/budget/count-tokens.ts'
import { renderContext } from '../../prompt/render/render-context.ts'
import type { Delta, LiveContent } from '../../view/view.ts'
import { auditAttempts, turnRef } from './audit.ts'
import { startSummary } from './background-calls.ts'
import { failureReason, finishMessage } from './finish-message.ts'
import { nextPrompt } from './next-prompt.ts'
import { modelTools } from './prepare-call.ts'
import { runPreHooks } from './run-hooks.ts'
import type { TurnContext } from './turn-context.ts'

type ModelTask = {
  readonly turnId: string
  abort(): void
  /** What came of it; a partial message when it was aborted, null when there is none. Does not reject for anything a hook or provider does. */
  readonly ended: Promise<Outcome | null>
}

/** What the task needs of the loop: the log as it is now, and a way to have an outcome committed before it goes on. */
type Loop = {
  state(): ConversationState
  submit(outcome: Outcome): Promise<boolean>
}

type ModelStep = Extract<Step, { type: 'model' }>

/** One model call of a turn: pre-hooks, rendering, the stream, the calls and the verdict on the message. */
function callModel(step: ModelStep, context: TurnContext, loop: Loop): ModelTask {
  const controller = new AbortController()
  const ended = run(step, context, loop, controller.signal).catch((error: unknown): Outcome | null => {
    if (controller.signal.aborted) return null
    const { node, ref } = context
    node.logger.error('a model call failed', { ...ref, turnId: step.turnId, error })
    return { type: 'end', turnId: step.turnId, status: 'failed', reason: failureReason(error) }
  })
  return { turnId: step.turnId, abort: () => controller.abort(), ended }
}

async function run(step: ModelStep, context: TurnContext, loop: Loop, signal: AbortSignal): Promise<Outcome | null> {
  const { agent, channel, memory } = context
  const { clock, redact } = context.node
  channel.emit({ type: 'state_changed', state: 'preparing' }, loop.state().lastSeq)
  const prepared = await unlessAborted(prepare(step, context, loop, signal), signal)
  if (prepared.type === 'halt') return { type: 'end', turnId: step.turnId, status: 'halted', reason: prepared.reason }

  const { turn, system } = prepared
  const state = loop.state()
  const turnState = stateOfTurn(state, step.turnId)
  const next = await nextPrompt(state, system, turn.injections, context, signal)
  const { prompt, estimated, reduction, prefix, toSummarise } = next
  if (toSummarise.length > 0) startSummary(toSummarise, state.lastSeq, context)
  const ref = turnRef(step.turnId, step.step)
  const audit = auditAttempts(context, { turnRef: ref, prompt, seen: state.lastSeq, reduction, prefix })
  const messageId = uuidV7(clock.now())
  failpoint('model.before_call')
  const message = await streamModel(
    {
      models: [agent.model, ...agent.fallbackModels],
      prompt: (model) => prompt(modelRef(model)),
      tools: modelTools(agent.tools, agent.model.provider),
      settings: agent.settings,
      ...(turnState.options.output ? { output: { schema: turnState.options.output } } : {}),
      retry: agent.retry,
      signal,
      clock,
      newCallId: () => uuidV7(clock.now()),
      transformChunk: agent.transformChunk,
      onAttempt: audit.onAttempt,
      redact,
    },
    liveDeltas(context, loop, step.turnId, messageId),
  )
  failpoint('model.after_stream')
  memory.calibration = calibrate(memory.calibration, estimated, message.usage.inputTokens)
  const finished = finishMessage({ message, messageId, seen: state.lastSeq, turn, turnState }, context, signal)
  const [outcome] = await Promise.all([finished, audit.written()])
  return outcome
}

type Prepared = { type: 'go'; turn: Turn; system: string } | { type: 'halt'; reason: string }

/** Runs the pre-hooks. What a durable one adds is in the log before the model is called. */
async function prepare(step: ModelStep, context: TurnContext, loop: Loop, signal: AbortSignal): Promise<Prepared> {
  const { agent, ref, scopes } = context
  const { clock, logger } = context.node
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
    signal,
  }
  const { instructions } = agent
  const system = typeof instructions === 'function' ? await instructions(turnOf(bare)) : instructions
  const { reduction, endedTurns: ended } = context.memory
  const turn = turnOf({
    ...bare,
    context: () => renderContext(state, { system, model: modelRef(agent.model), reduction, ended }),
  })
  const preHooks = agent.hooks.filter((hook) => hook.phase === 'pre')
  if (preHooks.length === 0) return { type: 'go', turn, system }
  const result = await runPreHooks(preHooks, turn, {
    hookTimeoutMs: agent.hookTimeoutMs,
    injectionReserve: agent.context.injectionReserve,
    countTokens: (parts) => countParts(parts, agent.context.tokenizer ?? estimateTokens),
    durableInjections: durableInjections(turnState, step.step),
    onDurable: async (hook, parts) => {
      const isKept = await loop.submit({ type: 'injection', turnId: step.turnId, step: step.step, hook, parts })
      if (!isKept) throw new DOMException('the turn has ended', 'AbortError')
    },
    logger,
    clock,
  })
  if (result.type === 'halt') return { type: 'halt', reason: result.reason }
  // What is in the log is rendered from there.
  const durable = new Set(preHooks.filter((hook) => hook.durable).map((hook) => hook.name))
  const transient = result.injections.filter(({ hook }) => !durable.has(hook)).flatMap(({ parts }) => parts)
  return { type: 'go', turn: turnOf({ ...result.turn, injections: transient }), system }
}

function durableInjections(turn: TurnState, step: number): Map<string, readonly UserPart[]> {
  const known = new Map<string, readonly UserPart[]>()
  for (const item of turn.items) if (item.type === 'injection' && item.step === step) known.set(item.hook, item.parts)
  return known
}

function liveDeltas(
  { agent, channel }: TurnContext,
  loop: Loop,
  turnId: string,
  messageId: string,
): (chunk: StreamChunk) => void {
  let n = 0
  // The commit shows what the hooks have passed; nothing is shown before.
  const isHeldBack = agent.reveal === 'judged' && agent.hooks.some((hook) => hook.phase === 'post')
  return (chunk) => {
    n += 1
    const seq = loop.state().lastSeq
    if (n === 1) channel.emit({ type: 'state_changed', state: 'streaming' }, seq)
    if (!isHeldBack) channel.emit(deltaOf(chunk, { turnId, messageId, n }), seq)
    failpoint('model.during_stream')
  }
}

function deltaOf(chunk: StreamChunk, place: Pick<Delta, 'turnId' | 'messageId' | 'n'>): LiveContent {
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

  /** Does nothing while one runs. */
  start(step: Extract<Step, { type: 'model' }>): void {
    if (this.#task) return
    const task = callModel(step, this.#context, this.#loop)
    this.#task = task
    task.ended.then(
      (outcome) => {
        if (this.#task !== task) return
        this.#task = null
        if (outcome) this.#reports.outcome(outcome)
      },
      (error) => this.#reports.crashed(error),
    )
  }

  /** Aborts it; whatever it still says is not reported, but returned. */
  stop(): Promise<Outcome | null> {
    const task = this.forget()
    task?.abort()
    return task?.ended ?? Promise.resolve(null)
  }

  /** Aborts it for a cancel: what it has said by then is the end of its message. */
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
