import type { LogEvent } from 'perdure/client'

/** What to look for: every field and every word must match. */
export type LogQuery = {
  readonly fields: readonly { readonly name: string; readonly value: string }[]
  readonly words: readonly string[]
}

/** As in `type:resolution who:eve "two words"`. A field may be deep in the content, `name:refund`; `seq:10-20` is a range. */
export function parseQuery(text: string): LogQuery {
  const fields: { name: string; value: string }[] = []
  const words: string[] = []
  for (const [, name, fieldQuoted, field, quoted, word] of text.slice(0, mostCharacters).matchAll(tokens)) {
    const value = fieldQuoted ?? field
    if (name !== undefined && value !== undefined) {
      if (value !== '') fields.push({ name, value: value.toLowerCase() })
    } else {
      const found = quoted ?? word
      if (found) words.push(found.toLowerCase())
    }
  }
  return { fields, words }
}

const mostCharacters = 1_000
const tokens = /([A-Za-z_]\w*):(?:"([^"]*)"?|(\S*))|"([^"]*)"?|(\S+)/g

export function isEmptyQuery({ fields, words }: LogQuery): boolean {
  return fields.length === 0 && words.length === 0
}

/** Whether the event has everything that is looked for. */
export function matches(event: LogEvent, { fields, words }: LogQuery): boolean {
  for (const { name, value } of fields) if (!hasField(event, name, value)) return false
  if (words.length === 0) return true
  const text = textOf(event)
  return words.every((word) => text.includes(word))
}

function hasField(event: LogEvent, name: string, value: string): boolean {
  if (name === 'type') return event.type.toLowerCase().includes(value)
  if (name === 'seq') {
    const [, from, to] = /^(\d+)(?:-(\d*))?$/.exec(value) ?? []
    if (from === undefined) return false
    const end = to === undefined ? Number(from) : to === '' ? Number.POSITIVE_INFINITY : Number(to)
    return event.seq >= Number(from) && event.seq <= end
  }
  return hasMember(event.content, name, value, 0)
}

const deepest = 12

/** Whether a member of that name, at any depth, contains the text. */
function hasMember(value: unknown, name: string, looked: string, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > deepest) return false
  if (Array.isArray(value)) return value.some((member) => hasMember(member, name, looked, depth + 1))
  return Object.entries(value).some(([key, member]) => {
    if (key === name && plain(member).includes(looked)) return true
    return hasMember(member, name, looked, depth + 1)
  })
}

function plain(value: unknown): string {
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).toLowerCase()
}

const texts = new WeakMap<LogEvent, string>()

/** Computed once for each event, however many letters are typed. */
function textOf(event: LogEvent): string {
  const known = texts.get(event)
  if (known !== undefined) return known
  const text = `${event.type} ${stringsIn(event.content, 0)}`.toLowerCase()
  texts.set(event, text)
  return text
}

/** The text of all values, without quotes and escapes: what a person sees is what matches. */
function stringsIn(value: unknown, depth: number): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return String(value)
  if (depth > deepest) return ''
  return Object.values(value)
    .map((member) => stringsIn(member, depth + 1))
    .join(' ')
}
