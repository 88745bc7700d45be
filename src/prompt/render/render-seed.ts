import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { Json } from '../../base/json.ts'
import { readSnapshot } from '../../log/read-snapshot.ts'
import type { SnapshotMessage, SnapshotPart } from '../../log/snapshot.ts'
import type { ConversationState } from '../../log/state.ts'
import type { Reduction } from './reduction.ts'

/** What a conversation was seeded with, before its first turn, until a summary stands for it. Told as a user message, like a summary. */
export function renderSeed(
  { seed }: Pick<ConversationState, 'seed'>,
  { summary }: Pick<Reduction, 'summary'>,
): LanguageModelV4Message[] {
  const text = summary === null ? seedText(seed) : ''
  if (text === '') return []
  return [{ role: 'user', content: [{ type: 'text', text: `${seedHeading}\n\n${text}` }] }]
}

const seedHeading = 'What was said before, from a copy of an earlier conversation:'

const mostCharacters = 60_000
const longestResult = 4_000
const texts = new WeakMap<object, string>()

/** As plain text, which no role, call or instruction can be smuggled in with. Empty when there is nothing to tell. */
export function seedText(seed: Json): string {
  if (seed === null || typeof seed !== 'object') return seed === null ? '' : String(seed).toWellFormed()
  const known = texts.get(seed)
  if (known !== undefined) return known
  const text = cut(tell(seed), mostCharacters).toWellFormed()
  texts.set(seed, text)
  return text
}

function tell(seed: Json): string {
  const read = readSnapshot(seed)
  // Written by somebody else: it is told as it is.
  if (!read.ok) return JSON.stringify(seed)
  const { summary, messages } = read.snapshot
  const lines = messages.flatMap(linesOf)
  return [...(summary ? [`Summary of what came before: ${summary}`] : []), ...lines].join('\n')
}

function linesOf({ role, parts }: SnapshotMessage): string[] {
  const said = parts.map(saidIn).join('').trim()
  const name = role === 'user' ? 'User' : 'Assistant'
  return [...(said === '' ? [] : [`${name}: ${said}`]), ...parts.flatMap(callIn)]
}

function saidIn(part: SnapshotPart): string {
  if (part.type === 'text') return part.text
  return part.type === 'file' ? `[file ${part.mediaType}]` : ''
}

function callIn(part: SnapshotPart): string[] {
  if (part.type !== 'call') return []
  const isEnded = part.status === 'ok' || part.status === 'error'
  const end = isEnded ? `${part.status}, ${cut(JSON.stringify(part.result), longestResult)}` : 'it had not ended'
  return [`Tool ${part.name}(${cut(JSON.stringify(part.args), longestResult)}): ${end}`]
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`
}
