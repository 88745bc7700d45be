import { onAbort } from '../../base/abort.ts'
import { isSameJson, type Json } from '../../base/json.ts'
import { type InputPart, readMessage } from '../../engine/turn-options.ts'
import { isBlobRef } from '../../log/blob-ref.ts'
import { openTurn } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { TurnRecord } from '../../runtime/read/history.ts'
import type { RouteCall } from '../route.ts'
import { type ClientMessage, inputOf } from './client-message.ts'
import { userMessageId } from './ui-turn-of.ts'

/** What a page means by sending a message that it shows already. */
export type Replacement =
  /** It was never received: it is sent as any other. */
  | { readonly type: 'send' }
  /** Nothing changes; its turn is streamed. */
  | { readonly type: 'stream'; readonly turnId: string }
  | { readonly type: 'retry'; readonly turnId: string; readonly key: string }
  | { readonly type: 'edit'; readonly turnId: string; readonly key: string; readonly input: readonly InputPart[] }

type Asked = { readonly trigger: 'submit-message' | 'regenerate-message'; readonly messageId?: string }

/**
 * `useChat` regenerates an answer, and sends an edited message under its old id. It also does either after a failed send or a lost stream; then the message is
 * as the log has it, or is not there. A turn that is being cancelled is waited for. The key names the turn that is replaced, so a repeated request is the same one.
 */
export async function replacementFor(
  call: RouteCall,
  conversation: Conversation,
  last: ClientMessage,
  { trigger, messageId }: Asked,
): Promise<Replacement> {
  if (trigger === 'submit-message' && messageId !== last.id) return { type: 'send' }
  const inspection = call.verbs.inspect(conversation.id)
  if (!(await inspection.record())) return { type: 'send' }
  await untilTerminated(call, conversation)
  const found = await findSaid(inspection, last.id)
  if (!found) return { type: 'send' }
  const { record, position } = found
  const { turnId, end } = record.turn
  if (trigger === 'regenerate-message') {
    if (!end) return { type: 'stream', turnId }
    const replaced = messageId === undefined || messageId === last.id ? turnId : turnOfMessage(messageId)
    return { type: 'retry', turnId: replaced, key: `${last.id}/${trigger}/${replaced}` }
  }
  const said = record.said.map(({ message }) => message.parts)
  const input = withStoredFiles(inputOf(last), said[position]!)
  if (isSameJson(readMessage(input).message.parts as unknown as Json, said[position]! as unknown as Json))
    return { type: 'stream', turnId }
  // A message that steered the turn stands after those before it.
  const before = said.slice(0, position).flat()
  return { type: 'edit', turnId, key: `${last.id}/${trigger}/${turnId}`, input: [...before, ...input] }
}

async function untilTerminated({ server, request }: RouteCall, conversation: Conversation): Promise<void> {
  const open = openTurn((await conversation.view()).log)
  if (!open?.cancel) return
  const enough = AbortSignal.any([AbortSignal.timeout(server.settings.limits.waitMs), request.signal])
  await new Promise<unknown>((resolve) => {
    onAbort(enough, () => resolve(null))
    void conversation.turn(open.turnId).outcome().then(resolve)
  })
}

type Found = { readonly record: TurnRecord; readonly position: number }

const turnsAtOnce = 50

/** The shown turn that has the message with that id, and where in it. */
async function findSaid(inspection: ReturnType<RouteCall['verbs']['inspect']>, id: string): Promise<Found | null> {
  let before: number | null | undefined
  while (before !== null) {
    const page = await inspection.turns({ limit: turnsAtOnce, ...(before === undefined ? {} : { before }) })
    for (const record of page.turns.toReversed()) {
      const position = record.said.findIndex((said) => userMessageId(said) === id)
      if (position >= 0) return { record, position }
    }
    before = page.before
  }
  return null
}

/** The id of an answer is that of its turn; one that is continued on another page has a place after it. */
function turnOfMessage(messageId: string): string {
  return messageId.split(':', 1)[0]!
}

/** A page shows files by their addresses; those that the message had are named by what is stored. */
function withStoredFiles(input: readonly InputPart[], before: readonly InputPart[]): InputPart[] {
  const stored = before.flatMap((part) => (part.type === 'file' && isBlobRef(part.data) ? [part.data] : []))
  return input.map((part) => {
    if (part.type !== 'file' || typeof part.data !== 'string') return part
    const url = part.data
    const data = stored.find(({ blob }) => url.includes(`/files/${blob}`))
    return data ? { ...part, data } : part
  })
}
