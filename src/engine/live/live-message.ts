import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Json } from '../../base/json.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { Activity, LiveContent } from '../../view/view.ts'

/** The messages about live events between nodes. */
export type NodeMessage =
  /** The sender watches these. `isNew`: it wants to know what is live of them now. */
  | { readonly type: 'watch'; readonly conversations: readonly (ConversationRef & { readonly isNew: boolean })[] }
  /** The sender may have missed what others watch. */
  | { readonly type: 'who_watches' }
  /** What an owner says of one conversation, under the epoch of its lease. */
  | (ConversationRef & { readonly type: 'live'; readonly epoch: number; readonly items: readonly LiveItem[] })

export type LiveItem = TextItem | OtherItem | WholeItem | EndItem

/** Text of a message that is being written. `at`: how many characters of the message come before it, in all its parts. */
export type TextItem = {
  readonly type: 'text'
  readonly seq: number
  readonly turnId: string
  readonly messageId: string
  readonly attempt: number
  readonly at: number
  readonly kind: 'text' | 'reasoning' | 'tool_input'
  readonly part: string
  /** Of the tool, for `tool_input`. */
  readonly name: string
  readonly text: string
}

/** A live event that has no text. */
export type OtherItem = {
  readonly type: 'other'
  readonly seq: number
  readonly content: Extract<LiveContent, { type: 'phase_changed' | 'message_discarded' | 'tool_progress' }>
}

/** Begins the whole of what is live: what the receiver has beside it is void. The text of the message follows. */
export type WholeItem = {
  readonly type: 'whole'
  readonly seq: number
  readonly activity: Activity | null
  readonly messageId: string | null
}

/** Ends it. */
export type EndItem = { readonly type: 'end'; readonly seq: number }

const version = 1
const kinds = ['text', 'reasoning', 'tool_input'] as const
const activities = ['preparing', 'streaming', 'executing_tools'] as const

/** A message as JSON. Several make one text: see `textOf`. */
export function encodeMessage(message: NodeMessage): string {
  if (message.type === 'who_watches') return '["q"]'
  if (message.type === 'watch')
    return JSON.stringify(['w', message.conversations.map(({ tenant, id, isNew }) => [tenant, id, isNew ? 1 : 0])])
  const { tenant, id, epoch, items } = message
  return JSON.stringify(['l', tenant, id, epoch, items.map(encodeItem)])
}

function encodeItem(item: LiveItem): Json[] {
  const { seq } = item
  if (item.type === 'end') return ['e', seq]
  if (item.type === 'whole') return ['h', seq, item.activity, item.messageId]
  if (item.type === 'text') {
    const { turnId, messageId, attempt, at, kind, part, name, text } = item
    return ['t', seq, turnId, messageId, attempt, at, kinds.indexOf(kind), part, name, text]
  }
  const { content } = item
  if (content.type === 'message_discarded') return ['d', seq, content.turnId, content.messageId]
  if (content.type === 'tool_progress') return ['p', seq, content.callId, content.payload]
  return ['s', seq, content.phase]
}

export function textOf(messages: readonly string[]): string {
  return `[${version},${messages.join(',')}]`
}

/** The messages of a text. Any client of the bus may write to it, so anything that is not a message is ignored. */
export function messagesOf(text: string): NodeMessage[] {
  try {
    const [given, ...messages] = JSON.parse(text) as unknown[]
    return given === version ? messages.flatMap((message) => decodeMessage(list(message))) : []
  } catch {
    return []
  }
}

function decodeMessage([kind, ...rest]: readonly unknown[]): NodeMessage[] {
  if (kind === 'q') return [{ type: 'who_watches' }]
  if (kind === 'w') {
    const conversations = list(rest[0]).flatMap((entry) => {
      const [tenant, id, isNew] = list(entry)
      return isId(tenant) && isId(id) ? [{ tenant, id, isNew: isNew === 1 }] : []
    })
    return [{ type: 'watch', conversations }]
  }
  const [tenant, id, epoch, items] = rest
  if (kind !== 'l' || !isId(tenant) || !isId(id) || !isCount(epoch)) return []
  return [{ type: 'live', tenant, id, epoch, items: list(items).flatMap((item) => decodeItem(list(item))) }]
}

function decodeItem([kind, seq, ...rest]: readonly unknown[]): LiveItem[] {
  if (!isCount(seq)) return []
  const [first, second] = rest
  switch (kind) {
    case 'e':
      return [{ type: 'end', seq }]
    case 'h':
      if (!(first === null || isActivity(first)) || !(second === null || isId(second))) return []
      return [{ type: 'whole', seq, activity: first, messageId: second }]
    case 't':
      return decodeText(seq, rest)
    case 'd':
      if (!isId(first) || !isId(second)) return []
      return [{ type: 'other', seq, content: { type: 'message_discarded', turnId: first, messageId: second } }]
    case 'p':
      if (!isId(first) || second === undefined) return []
      return [{ type: 'other', seq, content: { type: 'tool_progress', callId: first, payload: second as Json } }]
    case 's':
      return isActivity(first) ? [{ type: 'other', seq, content: { type: 'phase_changed', phase: first } }] : []
    default:
      return []
  }
}

function decodeText(seq: number, rest: readonly unknown[]): LiveItem[] {
  const [turnId, messageId, attempt, at, place, part, name, text] = rest
  const kind = kinds[place as number]
  if (!isId(turnId) || !isId(messageId) || !isCount(attempt) || !isCount(at) || kind === undefined) return []
  if (typeof part !== 'string' || typeof name !== 'string' || typeof text !== 'string' || text === '') return []
  return [{ type: 'text', seq, turnId, messageId, attempt, at, kind, part, name, text }]
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 255
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isActivity(value: unknown): value is Activity {
  return (activities as readonly unknown[]).includes(value)
}

/** Keeps what is live from other clients of the bus. */
export type Seal = { seal(text: string): string; open(sealed: string): string | null }

export const noSeal: Seal = { seal: (text) => text, open: (text) => text }

/** Seals with a key of 32 bytes that all nodes have. What was not sealed with it, or was changed, does not open. */
export function sealWith(key: Buffer): Seal {
  return {
    seal(text) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, iv)
      return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64')
    },
    open(sealed) {
      try {
        const bytes = Buffer.from(sealed, 'base64')
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
        decipher.setAuthTag(bytes.subarray(-16))
        return decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        return null
      }
    },
  }
}
