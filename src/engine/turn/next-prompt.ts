import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { retryStore } from '../../base/retry.ts'
import type { Agent } from '../../define/agent.ts'
import { type LanguageModel, modelRef } from '../../define/language-model.ts'
import type { ContextMessage } from '../../define/turn.ts'
import type { BlobRef } from '../../log/blob-ref.ts'
import type { ModelRef, UserPart } from '../../log/events.ts'
import type { ConversationState, TurnState } from '../../log/state.ts'
import { type Assembly, assemblePrompt, summaryText } from '../../prompt/assemble-prompt.ts'
import { planSummary } from '../../prompt/budget/prompt-size.ts'
import { describeReduction, type Reduction } from '../../prompt/budget/reduce.ts'
import { type CommonPrefix, commonPrefix, traceOf } from '../../prompt/common-prefix.ts'
import { blobsNeeded, renderContext } from '../../prompt/render/render-context.ts'
import { shapedPrompt } from '../../prompt/shaped-prompt.ts'
import type { TurnContext } from './turn-context.ts'

export type NextPrompt = {
  readonly prompt: (model: ModelRef) => LanguageModelV4Prompt
  /** Tokens, before they are corrected. */
  readonly estimated: number
  readonly reduction: Reduction
  readonly prefix: CommonPrefix | null
  /** The oldest turns, when they will have to go soon; else none. */
  readonly toSummarise: readonly TurnState[]
}

/** A model call as the hooks have left it. */
export type PreparedCall = {
  readonly system: string
  /** What is put at the end of the prompt. */
  readonly injections: readonly UserPart[]
  readonly model: LanguageModel
  /** The agent with the tools and settings of this call. */
  readonly agent: Agent
  /** The messages that a hook gave in place of those of the log. */
  readonly messages: { readonly given: readonly ContextMessage[]; readonly hook: string } | null
  /** Blobs that were read for the hooks. */
  readonly blobs: ReadonlyMap<string, Uint8Array>
}

/**
 * What the next model call of a turn sees; remembered, so that the next prompt extends it. Rejects with `ContextOverflowError` when
 * it does not fit.
 */
export async function nextPrompt(
  state: ConversationState,
  call: PreparedCall,
  context: TurnContext,
  signal: AbortSignal,
): Promise<NextPrompt> {
  const { node, ref, agent, memory } = context
  const before = memory.reduction
  const first = assemble(state, call, context)
  // Something is about to be left out; another node may have summed it up.
  const isNews = first.hasReduced && (await findSummary(context, signal))
  const assembly = isNews ? assemble(state, call, context) : first
  const { reduction, estimated } = assembly
  if (assembly.overflow && !call.messages) throw assembly.overflow
  memory.reduction = reduction
  const news = assembly.hasReduced ? describeReduction(before, reduction) : null
  if (news) node.logger.debug('the context was reduced', { ...ref, news })
  const maySummarise = !memory.isSummarising && state.lastSeq >= memory.summariseAtSeq
  const toSummarise = maySummarise
    ? planSummary({ ...assembly.reduced, isSummarised: agent.context.summarise !== false })
    : []
  const prefix = agent.audit === 'off' ? null : prefixOf(state, call, news, context)
  const shown = call.messages ? { ...state, turns: [] } : state
  const needed = blobsNeeded(shown, reduction, call.injections, memory.endedTurns)
  const blobs = needed.length === 0 ? call.blobs : await readBlobs(needed, context, signal, call.blobs)
  if (call.messages) {
    const models = [call.model, ...agent.fallbackModels].map(modelRef)
    const { given: messages, hook } = call.messages
    const shaped = { messages, hook, injections: call.injections, models, blobs }
    return { ...shapedPrompt(shaped, call.agent, memory.calibration.factor), reduction, prefix, toSummarise }
  }
  return { prompt: (model) => assembly.prompt(model, blobs), estimated, reduction, prefix, toSummarise }
}

function assemble(state: ConversationState, call: PreparedCall, { memory }: TurnContext): Assembly {
  const { reduction, calibration, turnSizes, endedTurns, latestSummary: latest } = memory
  const remembered = { reduction, calibration, turnSizes, endedTurns, latest }
  const { system, model, agent, injections } = call
  return assemblePrompt({ state, agent, system, model: modelRef(model), injections, ...remembered })
}

/** Whether the store has a newer one than this process knew of. */
async function findSummary({ node, ref, memory, store }: TurnContext, signal: AbortSignal): Promise<boolean> {
  const stored = summaryText(await retryStore(() => store.latestSummary(ref.id), node, ref, signal))
  if (!stored || stored.toSeq <= (memory.latestSummary?.toSeq ?? 0)) return false
  memory.latestSummary = stored
  return true
}

/** Compares only the part that comes from the log: injections are made anew for each call. */
function prefixOf(
  state: ConversationState,
  { system, model }: PreparedCall,
  news: string | null,
  { memory }: TurnContext,
): CommonPrefix | null {
  const { reduction, endedTurns: ended } = memory
  const trace = traceOf(renderContext(state, { system, model: modelRef(model), reduction, ended }))
  const prefix = memory.lastPrompt && commonPrefix(memory.lastPrompt, trace)
  memory.lastPrompt = trace
  return prefix?.brokenBy && news ? { ...prefix, brokenBy: news } : prefix
}

export const noBlobs: ReadonlyMap<string, Uint8Array> = new Map()

/** Those of `known` are not read again. */
export async function readBlobs(
  refs: readonly BlobRef[],
  { node, ref: conversation, store }: TurnContext,
  signal: AbortSignal,
  known: ReadonlyMap<string, Uint8Array> = noBlobs,
): Promise<Map<string, Uint8Array>> {
  const blobs = new Map<string, Uint8Array>(known)
  for (const ref of refs) {
    const found = blobs.has(ref.blob) ? null : await retryStore(() => store.getBlob(ref), node, conversation, signal)
    if (found) blobs.set(ref.blob, found.bytes)
  }
  return blobs
}
