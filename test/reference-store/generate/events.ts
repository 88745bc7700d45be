import fc from 'fast-check'
import type { Json } from '../../../src/base/json.ts'
import type { NewEvent } from '../../../src/log/events.ts'
import type { Conversation, Tenant } from '../contract/state.ts'
import type { World } from '../world.ts'
import { owners, pick, picked } from './names.ts'
import { text } from './texts.ts'
import { value } from './values.ts'

/** An event before it is known what the log holds that it goes to. */
export type EventPlan = {
  readonly type: (typeof types)[number]
  readonly text: string
  readonly value: Json
  /** Opens a turn rather than steering the last one. */
  readonly opens: boolean
  /** Which of the tenant's blobs it refers to; null: none. */
  readonly blob: number | null
}

const types = [
  'user_msg',
  'user_msg',
  'user_msg',
  'assistant_msg',
  'injection',
  'titled',
  'note',
  'state_set',
  'cancel_requested',
  'turn_ended',
  'seeded',
  'flow_started',
  'flow_outcome',
  'flow_opened',
  'flow_ended',
] as const

export const eventPlan: fc.Arbitrary<EventPlan> = fc.record({
  type: fc.constantFrom(...types),
  text,
  value,
  opens: fc.boolean(),
  blob: fc.option(pick, { freq: 4 }),
})

export function plannedEvent(
  world: World,
  tenant: Tenant,
  conversation: Conversation | undefined,
  plan: EventPlan,
): NewEvent {
  const text = world.stored(plan.text)
  const value = world.stored(plan.value)
  const turnId = lastTurnId(conversation) ?? 'none'
  const [hash, blob] = (plan.blob === null ? undefined : picked([...tenant.blobs], plan.blob)) ?? []
  const file = blob
    ? [{ type: 'file', mediaType: blob.mediaType, data: { blob: hash, mediaType: blob.mediaType, size: 3 } } as const]
    : []
  const parts = [{ type: 'text', text } as const, ...file]
  switch (plan.type) {
    case 'user_msg': {
      const who = plan.opens ? owners[world.counter % owners.length] : text
      const turn = plan.opens || turnId === 'none' ? `turn-${++world.counter}` : turnId
      return {
        type: 'user_msg',
        content: { turnId: turn, message: { parts }, options: { value }, who },
      } as NewEvent
    }
    case 'assistant_msg':
      return assistantMessage(world, turnId, [...parts, { type: 'source', source: { value } }])
    case 'injection':
      return { type: 'injection', content: { turnId, step: 1, hook: `hook ${text}`, parts } } as NewEvent
    case 'titled':
      return { type: 'titled', content: { title: text } }
    case 'note':
      return {
        type: 'note',
        content: { name: `note ${plan.opens}`, data: [short(value), file], who: text },
      } as NewEvent
    case 'state_set':
      return {
        type: 'state_set',
        content: {
          ...(plan.opens ? { callId: 'call-1' } : {}),
          patch: { set: { value }, remove: [] },
          exposed: [],
          who: text,
        },
      }
    case 'cancel_requested':
      return { type: 'cancel_requested', content: { turnId, who: text } }
    case 'turn_ended':
      return { type: 'turn_ended', content: { turnId, status: 'completed', reason: text } }
    case 'seeded':
      return { type: 'seeded', content: { state: value } }
    case 'flow_started':
      return {
        type: 'flow_started',
        content: { flow: `flow ${text}`, version: text, input: [value, file], who: text },
      } as NewEvent
    case 'flow_opened': {
      const position = 1 + (conversation?.events.filter(({ type }) => type === 'flow_opened').length ?? 0)
      return { type: 'flow_opened', content: { position, asked: position, op: { kind: 'suspend', tag: value } } }
    }
    case 'flow_ended':
      return plan.opens
        ? { type: 'flow_ended', content: { status: 'done', result: value } }
        : { type: 'flow_ended', content: { status: 'failed', error: text } }
    case 'flow_outcome':
      return { type: 'flow_outcome', content: { position: 1, ok: true, value: [value, file], who: text } } as NewEvent
  }
}

export function assistantMessage(world: World, turnId: string, parts: readonly unknown[]): NewEvent {
  const messageId = `message-${++world.counter}`
  const model = { provider: 'scripted', modelId: 'm' }
  const content = { turnId, messageId, seen: 1, parts, model, usage: {}, finishReason: 'stop', status: 'complete' }
  return { type: 'assistant_msg', content } as unknown as NewEvent
}

export function lastTurnId(conversation: Conversation | undefined): string | undefined {
  const message = conversation?.events.findLast(({ type }) => type === 'user_msg')
  return (message?.content as { turnId: string } | undefined)?.turnId
}

/** A note has at most 64 KiB. */
function short(value: Json): Json {
  return JSON.stringify(value).length < 4_000 ? value : null
}
