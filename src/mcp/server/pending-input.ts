import type { InputRequests } from '@modelcontextprotocol/server'
import { InvalidAnswerError } from '../../base/errors/definition-errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { Client } from '../../client/create-client.ts'
import { doneBeforeText } from '../../log/superseded.ts'
import type { PendingItem } from '../../view/view.ts'

type Conversation = ReturnType<Client['conversation']>
type Item = Pick<
  PendingItem,
  'callId' | 'round' | 'kind' | 'tool' | 'args' | 'prompt' | 'schema' | 'description' | 'doneBefore'
>

const mostItems = 10
const maxShownArgs = 2_000

/** The waiting calls that are asked about in one result. */
export function askedItems(pending: readonly PendingItem[]): readonly PendingItem[] {
  return pending.slice(0, mostItems)
}

export function itemKey({ callId, round }: Pick<Item, 'callId' | 'round'>): string {
  return `${callId}/${round}`
}

export function keysIn(items: readonly Item[]): string[] {
  return items.map(itemKey)
}

/** One question of the protocol for each waiting call. */
export function requestsFor(items: readonly Item[]): InputRequests {
  const requests = items.map((item) => {
    const params = { mode: 'form' as const, message: messageOf(item), requestedSchema: formOf(item) }
    return [itemKey(item), { method: 'elicitation/create' as const, params }] as const
  })
  return Object.fromEntries(requests) as unknown as InputRequests
}

function messageOf({ kind, tool, args, prompt, description, doneBefore }: Item): string {
  const said = description ?? (typeof prompt === 'string' ? prompt : JSON.stringify(prompt))
  const before = doneBefore ? `${doneBeforeText[doneBefore.outcome]} ` : ''
  if (kind !== 'approval') return `${before}${tool}: ${said}`.slice(0, maxShownArgs)
  return `${before}May ${tool} run? ${said} ${JSON.stringify(args).slice(0, maxShownArgs)}`
}

/** The protocol takes flat objects; any other answer is asked for as the text of its JSON. */
function formOf({ kind, schema }: Item): JsonObject {
  if (kind === 'approval') {
    return {
      type: 'object',
      properties: { approve: { type: 'boolean', title: 'Approve' }, reason: { type: 'string', title: 'Reason' } },
      required: ['approve'],
    }
  }
  if (kind === 'elicitation' && isFlat(schema)) {
    const { properties, required } = schema
    return { type: 'object', properties: properties!, ...(required === undefined ? {} : { required }) }
  }
  const description = `JSON that fits ${JSON.stringify(schema)}`.slice(0, maxShownArgs)
  return { type: 'object', properties: { json: { type: 'string', title: 'Answer', description } }, required: ['json'] }
}

/** Of a schema that a form of its properties says all of. Libraries write the others too. */
const flatKeys = new Set(['type', 'properties', 'required', '$schema', 'additionalProperties', 'title', 'description'])
const flatTypes = new Set<unknown>(['string', 'number', 'integer', 'boolean'])

function isFlat(schema: Json): schema is JsonObject {
  const { type, properties } = Object(schema) as JsonObject
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return false
  if (Object.keys(schema as JsonObject).some((key) => !flatKeys.has(key))) return false
  return Object.values(properties).every((property) => flatTypes.has(Object(property).type))
}

/**
 * Gives the answer of a client. False where it declines a question, which then still waits; an approval that is declined is
 * denied. An answer to a call that was answered meanwhile changes nothing.
 */
export async function answerItem(conversation: Conversation, item: Item, response: unknown): Promise<boolean> {
  const { action, content } = Object(response) as { readonly action?: unknown; readonly content?: unknown }
  const answer = Object(content) as { readonly [key: string]: unknown }
  const isAccepted = action === 'accept'
  if (item.kind === 'approval') {
    if (!isAccepted && action !== 'decline') return false
    const reason = typeof answer['reason'] === 'string' ? { reason: answer['reason'] } : {}
    if (isAccepted && answer['approve'] === true) await conversation.approve(item)
    else await conversation.deny(item, reason)
    return true
  }
  if (!isAccepted) return false
  await conversation.answer(item, item.kind === 'elicitation' && isFlat(item.schema) ? content : parsed(answer['json']))
  return true
}

function parsed(text: unknown): Json {
  try {
    return JSON.parse(String(text)) as Json
  } catch {
    throw new InvalidAnswerError('answer', 'it is not JSON')
  }
}
