import { isDeepStrictEqual } from 'node:util'
import { unlessAborted } from '../../base/abort.ts'
import { HookError } from '../../base/errors/definition-errors.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { retryStore } from '../../base/retry.ts'
import type { ToolSet } from '../../define/tool.ts'
import { type Turn, turnOf } from '../../define/turn.ts'
import { type Validation, validate, validateOutside } from '../../define/validate.ts'
import type { AssistantPart } from '../../log/events.ts'
import type { DraftCall, MessageOutcome, Outcome, Verdict } from '../../log/settle.ts'
import { cutShortText, type TurnState } from '../../log/state.ts'
import type { GeneratedFile, MessagePart } from '../../model/message-draft.ts'
import type { ModelMessage } from '../../model/stream-model.ts'
import { prepareCall } from './prepare-call.ts'
import { runPostHooks } from './run-hooks.ts'
import type { TurnContext } from './turn-context.ts'

export type Streamed = {
  readonly message: ModelMessage
  readonly messageId: string
  /** The attempts at it that broke off. */
  readonly discarded: NonNullable<MessageOutcome['discarded']>
  readonly seen: number
  readonly turn: Turn
  readonly turnState: TurnState
  /** What the model could call. */
  readonly toolSet: ToolSet
}

/** From what the model sent to an outcome: files into blobs, calls with their decisions, the object, the verdict of the post-hooks. */
export async function finishMessage(streamed: Streamed, context: TurnContext, signal: AbortSignal): Promise<Outcome> {
  const { message, messageId, discarded, seen, turnState } = streamed
  const { model, usage, finishReason } = message
  const parts = hasNoFiles(message.parts) ? message.parts : await storeFiles(message.parts, context, signal)
  const draft = {
    type: 'message' as const,
    turnId: turnState.turnId,
    messageId,
    seen,
    parts,
    model,
    usage,
    finishReason,
    ...(discarded.length > 0 ? { discarded } : {}),
  }
  const unjudged = { ...draft, calls: message.calls.map(undecided), ...withheldBy(firstPostHook(context)) }
  const cutOff: MessageOutcome = { ...unjudged, status: 'failed', failure: failureOf(message) }
  if (message.status !== 'complete') return cutOff
  try {
    return await unlessAborted(judged({ ...draft, status: 'complete', calls: [] }, streamed, context), signal)
  } catch (error) {
    // A cancelled message keeps its text. Its calls are never run, so they need no decision.
    if (signal.aborted) return cutOff
    const { node, ref } = context
    node.logger.error('a model call failed', { ...ref, turnId: turnState.turnId, messageId, error })
    const verdict = { type: 'fail' as const, reason: failureReason(error) }
    const failed = error instanceof HookError ? withheldBy(error.hook) : {}
    return { ...unjudged, status: 'complete', verdict, ...failed }
  }
}

type Judged = Pick<MessageOutcome, 'verdict' | 'withheld'>

async function judged(bare: MessageOutcome, streamed: Streamed, context: TurnContext): Promise<MessageOutcome> {
  const { message, turn, turnState, toolSet } = streamed
  const preparation = { redact: context.node.redact, offered: turn.shape?.tools }
  const preparing = message.calls.map((call) => prepareCall(call, toolSet, turn, preparation))
  const calls = preparing.length === 0 ? [] : toldCutOff(await Promise.all(preparing), message.finishReason)
  const outcome = { ...bare, calls }
  const { output } = turnState.options
  if (!output || calls.length > 0) return { ...outcome, ...(await postHooks(outcome, streamed, context)) }
  const object = await readObject(output, context.agent.outputJsonSchema, bare.parts)
  if (!object.ok) {
    if (object.isTooComplex) {
      const { node, ref } = context
      const { turnId } = turnState
      node.logger.warn('an object could not be checked against its schema', { ...ref, turnId, problem: object.issues })
    }
    const verdict = objectVerdict(turnState, object, message.finishReason)
    return { ...outcome, verdict, ...withheldBy(firstPostHook(context)) }
  }
  const complete = { ...outcome, object: object.value }
  return { ...complete, ...(await postHooks(complete, streamed, context)) }
}

/** Half a call cannot be made. The model reads that the length was the problem, not how it writes arguments. */
function toldCutOff(calls: readonly DraftCall[], finishReason: string): readonly DraftCall[] {
  const cutShort = cutShortText(finishReason)
  const last = calls.at(-1)
  if (cutShort === null || last?.result?.ok !== false) return calls
  const error = `${last.result.error} (the message was ${cutShort})`
  return [...calls.slice(0, -1), { ...last, result: { ok: false, error } }]
}

async function postHooks(
  outcome: MessageOutcome,
  { turn, turnState }: Streamed,
  context: TurnContext,
): Promise<Judged | null> {
  const { agent } = context
  const { clock, logger } = context.node
  if (firstPostHook(context) === undefined) return null
  const { messageId, parts, model, usage, finishReason } = outcome
  const assistantMessage = {
    messageId,
    parts,
    model,
    usage,
    finishReason,
    text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    calls: outcome.calls.map(({ callId, name, args }) => ({ callId, name, args })),
    ...(outcome.object === undefined ? {} : { object: outcome.object }),
  }
  const options = { hookTimeoutMs: agent.hookTimeoutMs, logger, clock }
  const result = await runPostHooks(agent.hooks, turnOf({ ...turn, assistantMessage }), options)
  if (result.type === 'keep') return null
  const withheld = withheldBy(result.hook)
  if (result.type === 'halt') {
    return { verdict: { type: 'halt', reason: result.reason }, ...(result.isShown ? {} : withheld) }
  }
  const n = regenerations(turnState) + 1
  // A message that a hook would not let pass is not let pass because it kept coming.
  if (n > agent.maxRegenerations) return { verdict: { type: 'halt', reason: 'max_regenerations' }, ...withheld }
  return { verdict: { type: 'regenerate', n, feedback: result.feedback }, ...withheld }
}

/** The hook that a message has not passed before any was asked; undefined on agents without post-hooks. */
function firstPostHook({ agent }: TurnContext): string | undefined {
  return agent.hooks.find((hook) => hook.phase === 'post')?.name
}

function withheldBy(hook: string | undefined): Pick<MessageOutcome, 'withheld'> {
  return hook === undefined ? {} : { withheld: hook }
}

function hasNoFiles(parts: readonly MessagePart[]): parts is readonly Exclude<MessagePart, GeneratedFile>[] {
  return !parts.some((part) => part.type === 'file')
}

async function storeFiles(
  parts: readonly MessagePart[],
  { node, ref, store }: TurnContext,
  signal: AbortSignal,
): Promise<AssistantPart[]> {
  const stored = parts.map(async (part): Promise<AssistantPart> => {
    if (part.type !== 'file') return part
    const { data, ...rest } = part
    if (typeof data === 'string') return { ...rest, data }
    return { ...rest, data: await retryStore(() => store.putBlob(data, part.mediaType), node, ref, signal) }
  })
  return await Promise.all(stored)
}

function failureOf({ error }: ModelMessage): string {
  return error ? `${error.code}: ${error.message}` : 'model_failed'
}

/** A call of a message that was cut off: it is recorded, never run. */
function undecided({ callId, providerCallId, name, input }: ModelMessage['calls'][number]): DraftCall {
  const decisions = {
    executor: 'server',
    gated: false,
    ifInterrupted: 'report',
    timeoutMs: null,
    expiresInMs: null,
  } as const
  return { callId, providerCallId, name, args: input, ...decisions }
}

/**
 * The object a message with structured output consists of, checked against the schema the turn was opened with. That is in the log, and no log says whose
 * it was: it is the agent's where it equals `own`, which this process has in its code, and from outside everywhere else.
 */
export async function readObject(
  schema: JsonObject,
  own: JsonObject | null,
  parts: readonly AssistantPart[],
): Promise<Validation<Json>> {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return { ok: false, issues: 'it is not JSON' }
  }
  return own !== null && isDeepStrictEqual(schema, own) ? validate(own, value) : validateOutside(schema, value)
}

type Refused = Extract<Validation<Json>, { ok: false }>

const prefix = 'Your answer does not fit the schema: '

/** An object that does not fit is asked for once more, with the reason; then the turn fails. One that cannot be judged fails it at once. */
export function objectVerdict(turn: TurnState, { issues, isTooComplex }: Refused, finishReason: string): Verdict {
  if (isTooComplex) return { type: 'fail', reason: 'schema_too_complex' }
  const wasAsked = turn.items.some(
    (item) => item.type === 'assistant' && item.regeneration?.feedback.startsWith(prefix),
  )
  const cutShort = cutShortText(finishReason)
  if (wasAsked) return { type: 'fail', reason: cutShort === null ? 'invalid_object' : 'object_cut_off' }
  return {
    type: 'regenerate',
    n: regenerations(turn) + 1,
    feedback:
      cutShort === null
        ? `${prefix}${issues}. Answer with the object only.`
        : `${prefix}it was ${cutShort} before it was complete. Answer with the object only, and make it shorter.`,
  }
}

export function regenerations(turn: TurnState): number {
  return turn.items.filter((item) => item.type === 'assistant' && item.regeneration).length
}

/** The reason of a failed turn, as its end records it: a code of errors.md first. */
export function failureReason(error: unknown): string {
  if (PerdureError.isInstance(error)) return `${error.code}: ${error.message}`
  return `internal_error: ${error instanceof Error ? error.message : String(error)}`
}
