import type { UiChunk } from './ui-chunk.ts'
import type { CallStage, UiCall } from './ui-turn.ts'

/**
 * Brings the part of a call from what a page has of it to what is true. A page runs a client tool whenever its input is made available, so the
 * input of one that is not to be run now, or has been, comes as if it were still being written.
 */
export function callChunks(before: UiCall | null, after: UiCall, isV7: boolean): UiChunk[] {
  if (!before || before.stage.type === 'writing') return wholeCall(before, after, isV7)
  const chunks: UiChunk[] = []
  const isClaimed = before.approval?.id === after.approval?.id && before.approval?.approved !== after.approval?.approved
  const isWrong = isClaimed && before.approval?.approved !== null
  if (after.approval && (before.approval?.id !== after.approval.id || isWrong)) chunks.push(asking(after))
  const isAnswered = isClaimed && after.approval?.approved !== null
  if (isV7 && (isAnswered || chunks.length > 0)) chunks.push(...answered(after))
  const isAskedAnew = chunks.length > 0 && after.stage.type === 'asked'
  if (isAskedAnew || (chunks.length === 0 && isSameStage(before, after))) return chunks
  return [...chunks, ...stageChunks(after, isV7 && after.approval?.approved === true)]
}

function wholeCall(before: UiCall | null, after: UiCall, isV7: boolean): UiChunk[] {
  const { stage } = after
  if (stage.type === 'writing') return written(before, after, stage.text)
  if (stage.type === 'refused')
    return [{ type: 'tool-input-error', ...inputOf(after), input: after.input, errorText: stage.errorText }]
  const isAsked = after.approval !== null
  const isAwaited = stage.type === 'awaited'
  const input = after.isForPage && (isAsked || !isAwaited) ? held(after) : [available(after)]
  const isInput = isAwaited || stage.type === 'ready' || stage.type === 'held'
  if (!isAsked) return isInput ? input : [...input, ...stageChunks(after, false)]
  const replies = isV7 ? answered(after) : []
  return [
    ...input,
    asking(after),
    ...replies,
    ...(stage.type === 'asked' ? [] : stageChunks(after, replies.length > 0)),
  ]
}

/** `isTold`: the page knows from another chunk that the call goes on. */
function stageChunks(call: UiCall, isTold: boolean): UiChunk[] {
  const { stage, key: toolCallId } = call
  const run = call.isProviderRun ? ({ providerExecuted: true } as const) : {}
  switch (stage.type) {
    case 'awaited':
      return [available(call)]
    case 'ready':
      return isTold ? [] : [available(call)]
    case 'held':
      return isTold ? [] : held(call)
    case 'asked':
      return [asking(call)]
    case 'denied':
      return [{ type: 'tool-output-denied', toolCallId }]
    case 'output':
      return [{ type: 'tool-output-available', toolCallId, output: stage.output, ...run }]
    case 'error':
      return [{ type: 'tool-output-error', toolCallId, errorText: stage.errorText, ...run }]
    case 'writing':
    case 'refused':
      return []
  }
}

function written(before: UiCall | null, after: UiCall, text: string): UiChunk[] {
  const shown = before?.stage.type === 'writing' ? before.stage.text.length : 0
  const start: UiChunk[] = before ? [] : [starting(after)]
  if (text.length === shown) return start
  return [...start, { type: 'tool-input-delta', toolCallId: after.key, inputTextDelta: text.slice(shown) }]
}

function held(call: UiCall): UiChunk[] {
  const inputTextDelta = JSON.stringify(call.input)
  return [starting(call), { type: 'tool-input-delta', toolCallId: call.key, inputTextDelta }]
}

function starting({ key: toolCallId, name: toolName, isProviderRun }: UiCall): UiChunk {
  return {
    type: 'tool-input-start',
    toolCallId,
    toolName,
    ...(isProviderRun ? { providerExecuted: true as const } : {}),
  }
}

function available(call: UiCall): UiChunk {
  return { type: 'tool-input-available', ...inputOf(call), input: call.input }
}

function asking({ key, approval }: UiCall): UiChunk {
  return { type: 'tool-approval-request', toolCallId: key, approvalId: approval?.id ?? key }
}

function answered({ approval }: UiCall): UiChunk[] {
  if (!approval || approval.approved === null) return []
  const { id, approved, reason } = approval
  return [{ type: 'tool-approval-response', approvalId: id, approved, ...(reason === undefined ? {} : { reason }) }]
}

function inputOf({ key, name, isProviderRun, providerMetadata }: UiCall) {
  return {
    toolCallId: key,
    toolName: name,
    ...(isProviderRun ? { providerExecuted: true as const } : {}),
    ...(providerMetadata ? { providerMetadata } : {}),
  }
}

function isSameStage(before: UiCall, after: UiCall): boolean {
  return textOf(before.stage) === textOf(after.stage) && JSON.stringify(before.input) === JSON.stringify(after.input)
}

function textOf(stage: CallStage): string {
  return JSON.stringify(stage)
}
