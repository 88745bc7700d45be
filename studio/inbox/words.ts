import type { Answered, InboxItem, Json } from 'perdure/client'
import { visible } from '../parts/visible.ts'

/** What will happen, or what is asked, in one line that a row leads with. */
export function headline(item: InboxItem): string {
  const told = item.description ?? promptLine(item.kind === 'flow' ? item.tag : item.prompt)
  return visible(told ?? bareLine(item), 300)
}

/** The words of a prompt that is text or has some. */
export function promptLine(prompt: Json): string | null {
  if (typeof prompt === 'string') return prompt.trim() === '' ? null : prompt
  if (typeof prompt !== 'object' || prompt === null || Array.isArray(prompt)) return null
  for (const name of ['question', 'title', 'message', 'text', 'prompt', 'ask', 'payload'] as const) {
    const found = (prompt as Readonly<Record<string, Json>>)[name]
    if (typeof found === 'string' && found.trim() !== '') return found
  }
  return null
}

function bareLine({ kind, tool, args }: InboxItem): string {
  const given = argsLine(args)
  if (kind === 'flow') return given === '' ? 'A session asks for an answer' : given
  return given === '' ? tool : `${tool}  ${given}`
}

/** Arguments in one line, as in `orderId: o-17, cents: 5000`. */
function argsLine(args: Json): string {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return args === null ? '' : cut(args)
  const members = Object.entries(args).slice(0, 6)
  return members.map(([name, value]) => `${name}: ${cut(value)}`).join(', ')
}

function cut(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

/** That an earlier variant of the turn did the same. Null where none did. */
export function doneBeforeWords({ doneBefore }: Pick<InboxItem, 'doneBefore'>): string | null {
  return doneBefore ? `An earlier variant ran the same: ${doneWords[doneBefore.outcome]}.` : null
}

const doneWords = { done: 'it was done', failed: 'it failed', unknown: 'it may have taken effect' }

/** What kind of answer is asked for. */
export const kindWords: Readonly<Record<string, string>> = {
  approval: 'approval',
  elicitation: 'question',
  client_exec: 'page',
  recovery: 'interrupted',
  flow: 'session',
}

/** What came of an answer, or of an item that others answered. */
export type Outcome =
  | { readonly type: 'sending' }
  | { readonly type: 'accepted'; readonly did: Did }
  | { readonly type: 'lost'; readonly who: string | null; readonly did: Did; readonly at: number | null }
  | { readonly type: 'changed' }
  | { readonly type: 'failed'; readonly message: string }

export type Did = 'approved' | 'denied' | 'answered' | 'expired' | 'cancelled' | 'gone'

/** What a resolution did to an item of this kind. */
export function didOf(status: string | null, kind: InboxItem['kind']): Did {
  if (status === 'denied' || status === 'expired' || status === 'cancelled') return status
  if (status === null) return 'gone'
  return kind === 'approval' ? 'approved' : 'answered'
}

export function outcomeOf(answered: Answered, did: Did, kind: InboxItem['kind']): Outcome {
  if (answered.accepted) return { type: 'accepted', did }
  const { who, status, at } = answered.resolution
  return { type: 'lost', who, did: didOf(status, kind), at }
}

/** The line of a row that is over: who did what. The time is shown beside it. */
export function outcomeWords(outcome: Outcome): string {
  switch (outcome.type) {
    case 'sending':
      return 'Sending…'
    case 'accepted':
      return `${capital(outcome.did)} by you`
    case 'lost':
      if (outcome.did === 'expired') return 'Expired without an answer'
      if (outcome.did === 'gone') return 'No longer waiting'
      return `${capital(outcome.did)} by ${visible(outcome.who ?? 'someone else', 60)}`
    case 'changed':
      return 'Not sent: it changed. Look again'
    case 'failed':
      return `Not sent: ${visible(outcome.message, 200)}`
  }
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
