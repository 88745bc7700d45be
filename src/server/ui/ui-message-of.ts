import type { JsonObject } from '../../base/json.ts'
import { isBlobRef } from '../../log/blob-ref.ts'
import type { TurnRecord } from '../../runtime/read/history.ts'
import type { View } from '../../view/view.ts'
import { leftOutOf, metadataOf } from './chunks-between.ts'
import type { UiCall, UiPart, UiTurn } from './ui-turn.ts'
import { type FileUrl, uiTurnFrom } from './ui-turn-of.ts'

/** A message as `useChat` takes it. */
export type UiMessage = {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly metadata?: JsonObject
  readonly parts: readonly JsonObject[]
}

type Place = Pick<View, 'conversationId' | 'state'>

/** The messages of turns, from the log. */
export function uiMessagesOf(turns: readonly TurnRecord[], place: Place, fileUrl: FileUrl): UiMessage[] {
  return turns.flatMap(({ turn, said, cutAt }) => {
    const shown = uiTurnFrom(turn, place, fileUrl)
    const users = said.map((user) => userMessage(user, place.conversationId, fileUrl))
    const isBegun = shown && (shown.steps.length > 0 || (shown.standing.status !== 'running' && cutAt === null))
    if (!isBegun) return users
    return [...users, cutAt === null ? uiMessageOf(shown) : beginningOf(shown, cutAt)]
  })
}

/** The first part of a turn that is too long for one page. The rest is a message of its own on the next page. */
function beginningOf(turn: UiTurn, cutAt: number): UiMessage {
  return { ...uiMessageOf(turn), id: `${turn.turnId}:${cutAt}`, metadata: { status: 'continued' } }
}

/** The message that a page shows after it has received all of a turn. */
export function uiMessageOf(turn: UiTurn): UiMessage {
  const { turnId, steps, standing } = turn
  const parts = steps.flatMap(({ messageId, parts: shown }) => [
    { type: 'step-start' },
    ...shown.map((part) => partOf(part, messageId)),
  ])
  return { id: turnId, role: 'assistant', metadata: { ...metadataOf(standing), ...leftOutOf(turn) }, parts }
}

/** The id of a message that was sent without a key. */
const unkeyed = /^user-\d+$/

export function isUnkeyedId(id: string): boolean {
  return unkeyed.test(id)
}

function userMessage({ seq, key, message }: TurnRecord['said'][number], conversationId: string, fileUrl: FileUrl) {
  const parts = message.parts.map((part): JsonObject => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    const { mediaType, data, filename } = part
    const url = isBlobRef(data) ? fileUrl(conversationId, data.blob) : data
    return { type: 'file', mediaType, url, ...(filename === undefined ? {} : { filename }) }
  })
  return { id: key ?? `user-${seq}`, role: 'user' as const, parts }
}

function partOf(part: UiPart, messageId: string): JsonObject {
  switch (part.kind) {
    case 'text':
    case 'reasoning': {
      const { kind: type, key, text, isDone, providerMetadata } = part
      const named = type === 'reasoning' ? { type, id: `${messageId}:${key}` } : { type }
      const state = isDone ? 'done' : 'streaming'
      return { ...named, text, state, ...(providerMetadata ? { providerMetadata } : {}) }
    }
    case 'attachment':
      return part.chunk
    case 'question':
      return { type: 'data-question', id: part.key, data: part.data }
    case 'call':
      return callPart(part)
  }
}

function callPart(call: UiCall): JsonObject {
  const { key, name, input, approval, isProviderRun, providerMetadata } = call
  return {
    type: `tool-${name}`,
    toolCallId: key,
    input,
    ...stateOf(call),
    ...(approval ? { approval: shownApproval(approval) } : {}),
    ...(isProviderRun ? { providerExecuted: true } : {}),
    ...(providerMetadata ? { callProviderMetadata: providerMetadata } : {}),
  }
}

function shownApproval({ id, approved, reason }: NonNullable<UiCall['approval']>): JsonObject {
  return { id, ...(approved === null ? {} : { approved }), ...(reason === undefined ? {} : { reason }) }
}

function stateOf({ stage, approval }: UiCall): JsonObject {
  switch (stage.type) {
    case 'writing':
    case 'held':
      return { state: 'input-streaming' }
    case 'ready':
      return { state: approval?.approved ? 'approval-responded' : 'input-available' }
    case 'awaited':
      return { state: 'input-available' }
    case 'asked':
      return { state: 'approval-requested' }
    case 'denied':
      return { state: 'output-denied' }
    case 'output':
      return { state: 'output-available', output: stage.output }
    case 'error':
    case 'refused':
      return { state: 'output-error', errorText: stage.errorText }
  }
}
