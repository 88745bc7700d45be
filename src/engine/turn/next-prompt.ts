import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { retryStore } from '../../base/retry.ts'
import { modelRef } from '../../define/language-model.ts'
import type { BlobRef } from '../../log/blob-ref.ts'
import type { ModelRef, UserPart } from '../../log/events.ts'
import type { ConversationState, TurnState } from '../../log/state.ts'
import { type Assembly, assemblePrompt, summaryText } from '../../prompt/assemble-prompt.ts'
import { planSummary } from '../../prompt/budget/prompt-size.ts'
import { describeReduction } from '../../prompt/budget/reduce.ts'
import { type CommonPrefix, commonPrefix, traceOf } from '../../prompt/common-prefix.ts'
import type { Reduction } from '../../prompt/render/reduction.ts'
import { blobsNeeded, renderContext } from '../../prompt/render/render-context.ts'
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

/**
 * What the next model call of a turn sees; remembered, so that the prompt after it goes on from it. Rejects with `ContextOverflowError` when
 * it does not fit.
 */
export async function nextPrompt(
  state: ConversationState,
  system: string,
  injections: readonly UserPart[],
  context: TurnContext,
  signal: AbortSignal,
): Promise<NextPrompt> {
  const { node, ref, agent, memory } = context
  const before = memory.reduction
  const first = assemble(state, system, injections, context)
  // Something is about to be left out; another node may have summed it up.
  const isNews = first.hasReduced && (await findSummary(context, signal))
  const assembly = isNews ? assemble(state, system, injections, context) : first
  const { reduction, estimated } = assembly
  if (assembly.overflow) throw assembly.overflow
  memory.reduction = reduction
  const news = assembly.hasReduced ? describeReduction(before, reduction) : null
  if (news) node.logger.debug('the context was reduced', { ...ref, news })
  const maySummarise = !memory.isSummarising && state.lastSeq >= memory.summariseAtSeq
  const toSummarise = maySummarise
    ? planSummary({ ...assembly.reduced, isSummarised: agent.context.summarise !== false })
    : []
  const prefix = agent.audit === 'off' ? null : prefixOf(state, system, news, context)
  const needed = blobsNeeded(state, reduction, injections, memory.endedTurns)
  const blobs = needed.length === 0 ? noBlobs : await readBlobs(needed, context, signal)
  return { prompt: (model) => assembly.prompt(model, blobs), estimated, reduction, prefix, toSummarise }
}

function assemble(
  state: ConversationState,
  system: string,
  injections: readonly UserPart[],
  { agent, memory }: TurnContext,
): Assembly {
  const { reduction, calibration, turnSizes, endedTurns, latestSummary: latest } = memory
  const remembered = { reduction, calibration, turnSizes, endedTurns, latest }
  return assemblePrompt({ state, agent, system, model: modelRef(agent.model), injections, ...remembered })
}

/** Whether the store has a newer one than this process knew of. */
async function findSummary({ node, ref, memory, store }: TurnContext, signal: AbortSignal): Promise<boolean> {
  const stored = summaryText(await retryStore(() => store.latestSummary(ref.id), node, ref, signal))
  if (!stored || stored.toSeq <= (memory.latestSummary?.toSeq ?? 0)) return false
  memory.latestSummary = stored
  return true
}

/** Compares what comes of the log: injections are made anew for each call. */
function prefixOf(
  state: ConversationState,
  system: string,
  news: string | null,
  { agent, memory }: TurnContext,
): CommonPrefix | null {
  const { reduction, endedTurns: ended } = memory
  const trace = traceOf(renderContext(state, { system, model: modelRef(agent.model), reduction, ended }))
  const prefix = memory.lastPrompt && commonPrefix(memory.lastPrompt, trace)
  memory.lastPrompt = trace
  return prefix?.brokenBy && news ? { ...prefix, brokenBy: news } : prefix
}

const noBlobs: ReadonlyMap<string, Uint8Array> = new Map()

async function readBlobs(
  refs: readonly BlobRef[],
  { node, ref: conversation, store }: TurnContext,
  signal: AbortSignal,
): Promise<Map<string, Uint8Array>> {
  const blobs = new Map<string, Uint8Array>()
  for (const ref of refs) {
    const found = blobs.has(ref.blob) ? null : await retryStore(() => store.getBlob(ref), node, conversation, signal)
    if (found) blobs.set(ref.blob, found.bytes)
  }
  return blobs
}
