import type { EventType, Event as ProtocolEvent } from '@ag-ui/core'
import { jsonText } from '../../log/codec.ts'

/** An event of AG-UI 1.0 as it is written: `type` is its text, so nothing of the protocol's package is loaded. */
export type AgUiEvent = ProtocolEvent extends infer One
  ? One extends { readonly type: EventType }
    ? Omit<One, 'type'> & { readonly type: `${One['type']}` }
    : never
  : never

export const protocolVersion = '1.0'

const encoder = new TextEncoder()

export function eventFrames(events: readonly AgUiEvent[]): Uint8Array {
  return encoder.encode(events.map((event) => `data: ${jsonText(event)}\n\n`).join(''))
}

/** The first text of a message has the id of the message; its calls belong to it. */
export function textId(messageId: string, partKey: string): string {
  return partKey === 'text-0' ? messageId : `${messageId}:${partKey}`
}

export function resultId(callId: string): string {
  return `${callId}:result`
}
