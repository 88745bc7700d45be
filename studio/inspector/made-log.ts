import type { LogEvent } from 'perdure/client'

/** A log for tests: `[type, content, ms since the event before]` for each event. */
export function madeLog(...events: readonly (readonly [type: string, content: object, after?: number])[]): LogEvent[] {
  let at = 1_000_000
  return events.map(([type, content, after = 10], index) => {
    at += after
    return { conversationId: 'c', seq: index + 1, at, type, content } as unknown as LogEvent
  })
}

export const said = (turnId: string, text: string, who = 'eve') =>
  ['user_msg', { turnId, message: { parts: [{ type: 'text', text }] }, options: {}, who }] as const

export const wrote = (turnId: string, messageId: string, text: string, more: object = {}) =>
  [
    'assistant_msg',
    {
      turnId,
      messageId,
      seen: 0,
      parts: [{ type: 'text', text }],
      model: { provider: 'acme', modelId: 'm1' },
      usage: {},
      finishReason: 'stop',
      status: 'complete',
      ...more,
    },
  ] as const

export const called = (turnId: string, callId: string, name: string, more: object = {}) =>
  [
    'tool_call',
    {
      turnId,
      callId,
      providerCallId: callId,
      name,
      args: { order: 'o-17' },
      executor: 'server',
      gated: false,
      ifInterrupted: 'report',
      timeoutMs: null,
      expiresInMs: null,
      ...more,
    },
  ] as const

export const ended = (turnId: string, status = 'completed') => ['turn_ended', { turnId, status, reason: null }] as const

export const suspended = (callId: string, kind = 'approval') =>
  ['suspension', { callId, round: 1, kind, prompt: null, schema: null, expiresInMs: null }] as const

export const resolved = (callId: string, who: string, status = 'resolved', kind = 'approval') =>
  ['resolution', { callId, round: 1, kind, status, value: true, who }] as const
