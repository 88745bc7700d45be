import type { AssistantPart, UserPart } from '../log/events.ts'
import type { SpanAttributes } from './span-record.ts'

/** Longer values are cut. Exporters refuse, or drop whole batches of, spans that are too large. */
const mostLetters = 16_384

/** The given values as attributes, where the application asked for them; null values are left out. */
export function contentOf(isAsked: boolean, values: Readonly<Record<string, unknown>>): SpanAttributes {
  if (!isAsked) return {}
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, textOf(value)]))
}

/** A message in the form of the semantic conventions, with its texts alone. */
export function messageText(role: 'user' | 'assistant', parts: readonly (UserPart | AssistantPart)[]): unknown {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [{ type: 'text', content: part.text }] : []))
  return [{ role, parts: texts }]
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > mostLetters ? `${text.slice(0, mostLetters).toWellFormed()}…` : text.toWellFormed()
}
