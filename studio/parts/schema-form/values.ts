import type { Json, JsonObject } from 'perdure/client'
import type { Field, NumberRules, TextRules } from './fields.ts'

/** Where a value is in another: names of members and indexes of items. */
export type Path = readonly (string | number)[]

export function valueAt(root: Json | undefined, path: Path): Json | undefined {
  let found: Json | undefined = root
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as unknown as Readonly<Record<string | number, Json>>)[step]
  }
  return found
}

/** A copy with another value at a place. `undefined` takes a member or an item away. Everything else is the same object as before. */
export function withValueAt(root: Json | undefined, path: Path, value: Json | undefined): Json | undefined {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (typeof step === 'number') {
    const items = Array.isArray(root) ? [...root] : []
    const next = withValueAt(items[step], rest, value)
    if (next === undefined) items.splice(step, 1)
    else items[step] = next
    return items
  }
  const members = new Map(Object.entries(isObject(root) ? root : {}))
  const next = withValueAt(members.get(step), rest, value)
  if (next === undefined) members.delete(step)
  else members.set(step, next)
  return Object.fromEntries(members)
}

/** What a form begins with where there is no value yet: required members alone. */
export function emptyValue(field: Field): Json | undefined {
  if (field.initial !== undefined) return field.initial
  if (field.kind === 'constant') return field.value
  if (field.isNullable) return null
  if (field.kind === 'list') return []
  if (field.kind !== 'object') return undefined
  const members = field.properties.flatMap(({ name, isRequired, field: member }) => {
    const value = isRequired || member.initial !== undefined ? emptyValue(member) : undefined
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(members)
}

/** What one item or member has when a person adds it: something that can be typed over. */
export function addedValue(field: Field): Json {
  const value =
    field.isNullable && field.initial === undefined ? emptyValue({ ...field, isNullable: false }) : emptyValue(field)
  if (value !== undefined) return value
  if (field.kind === 'text') return ''
  if (field.kind === 'boolean') return false
  if (field.kind === 'choice') return field.options[0]?.value ?? null
  return field.kind === 'number' ? 0 : null
}

export type Parsed = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string }

/** A number as a person types it. One that would be rounded is refused, not changed. */
export function parseNumber(text: string): Parsed {
  const typed = text.trim()
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed)) return { ok: false, problem: 'This is not a number.' }
  const value = Number(typed)
  if (!Number.isFinite(value) || digitsOf(typed) !== digitsOf(numberText(value)))
    return { ok: false, problem: 'This number cannot be kept exactly.' }
  return { ok: true, value: value === 0 ? 0 : value }
}

/** Its digits and exponent, however it is written. */
function digitsOf(typed: string): string {
  const [mantissa = '', exponent = '0'] = typed.toLowerCase().replace(/^\+/, '').split('e')
  const isNegative = mantissa.startsWith('-')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const kept = digits.replace(/0+$/, '')
  if (kept === '') return '0'
  const power = Number(exponent) - fraction.length + (digits.length - kept.length)
  return `${isNegative ? '-' : ''}${kept}e${power}`
}

export function numberText(value: number): string {
  return Object.is(value, -0) ? '0' : String(value)
}

/** JSON as a person types it. A number that JSON.parse would round is refused. */
export function parseJson(text: string): Parsed {
  if (text.trim() === '') return { ok: false, problem: 'This is empty.' }
  try {
    const value = JSON.parse(text) as Json
    const rounded = roundedNumber(text)
    if (rounded !== null) return { ok: false, problem: `The number ${rounded.slice(0, 40)} cannot be kept exactly.` }
    return { ok: true, value }
  } catch (error) {
    return { ok: false, problem: `This is not JSON: ${(error as Error).message.slice(0, 120)}` }
  }
}

function roundedNumber(text: string): string | null {
  // Strings are skipped whole, so that digits inside them do not count.
  for (const [found] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g))
    if (!found.startsWith('"') && !parseNumber(found).ok) return found
  return null
}

export function jsonText(value: Json | undefined): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2)
}

export type Problem = { readonly path: Path; readonly text: string }

const mostProblems = 20

/** What does not fit, for the person who fills the form in. The server checks again, by the schema itself. */
export function problemsIn(field: Field, value: Json | undefined, path: Path = []): Problem[] {
  if (value === null && field.isNullable) return []
  const found = own(field, value).map((text) => ({ path, text }))
  if (field.kind === 'object' && isObject(value)) {
    for (const { name, isRequired, field: member } of field.properties) {
      const there = Object.hasOwn(value, name) ? value[name] : undefined
      if (there === undefined && !isRequired) continue
      found.push(...problemsIn(member, there, [...path, name]))
      if (found.length >= mostProblems) break
    }
  }
  if (field.kind === 'list' && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      found.push(...problemsIn(field.item, item, [...path, index]))
      if (found.length >= mostProblems) break
    }
  }
  return found.slice(0, mostProblems)
}

function own(field: Field, value: Json | undefined): string[] {
  if (value === undefined) return ['This is needed.']
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' ? textProblems(field, value) : ['This must be text.']
    case 'number':
      return typeof value === 'number' ? numberProblems(field, value) : ['This must be a number.']
    case 'boolean':
      return typeof value === 'boolean' ? [] : ['This must be yes or no.']
    case 'choice':
      return field.options.some((option) => isSame(option.value, value)) ? [] : ['Choose one.']
    case 'constant':
      return isSame(field.value, value) ? [] : [`This must be ${JSON.stringify(field.value).slice(0, 80)}.`]
    case 'object':
      return isObject(value) ? [] : ['This must be an object.']
    case 'list':
      return Array.isArray(value) ? lengthProblems(value.length, field, 'items') : ['This must be a list.']
    case 'json':
      return []
  }
}

function textProblems(rules: TextRules, value: string): string[] {
  // As JSON Schema counts: code points.
  const isLong = value.length > 100_000
  const found = lengthProblems(isLong ? value.length : [...value].length, rules, 'characters')
  if (rules.pattern !== null && !fits(rules.pattern, value)) found.push(`This must match ${rules.pattern.slice(0, 80)}`)
  const format = rules.format === null ? undefined : formats[rules.format]
  if (format && value.length <= 2_000 && !format.fits.test(value)) found.push(`This must be ${format.words}.`)
  return found
}

const formats: Readonly<Record<string, { readonly fits: RegExp; readonly words: string }>> = {
  email: { fits: /^[^\s@]+@[^\s@]+$/, words: 'an email address' },
  uri: { fits: /^[a-z][a-z0-9+.-]*:\S+$/i, words: 'an address with its scheme, such as https://' },
  date: { fits: /^\d{4}-\d\d-\d\d$/, words: 'a date, such as 2026-05-01' },
  time: { fits: /^\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/i, words: 'a time, such as 14:30:00Z' },
  'date-time': {
    fits: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i,
    words: 'a date and a time, such as 2026-05-01T14:30:00Z',
  },
  uuid: { fits: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, words: 'a UUID' },
}

/** Whether the text matches, or may: a pattern that could take long, or that no browser knows, is left to the server. */
function fits(pattern: string, value: string): boolean {
  if (waysToRead(pattern, value.length) > mostWays) return true
  try {
    return new RegExp(pattern, 'u').test(value)
  } catch {
    return true
  }
}

/** A browser's regular expressions try them one after the other, a few million in a second. */
const mostWays = 300_000

/** At most so many ways there are to read a text of this length: where it begins, and what each repetition, option and alternative takes of it. */
function waysToRead(pattern: string, length: number): number {
  // A group that is repeated, or read again, multiplies its own ways.
  if (pattern.length > 200 || /\)[+*{]|\\[1-9k]/.test(pattern)) return Number.POSITIVE_INFINITY
  const places = length + 1
  const repetitions = pattern.match(/[+*{]/g)?.length ?? 0
  const choices = pattern.match(/[?|]/g)?.length ?? 0
  return places ** (repetitions + 1) * 2 ** choices
}

function numberProblems({ isWhole, least, most, above, below, step }: NumberRules, value: number): string[] {
  const found: string[] = []
  if (isWhole && !Number.isInteger(value)) found.push('This must be a whole number.')
  if (value < least) found.push(`This must be at least ${least}.`)
  if (value > most) found.push(`This must be at most ${most}.`)
  if (value <= above) found.push(`This must be more than ${above}.`)
  if (value >= below) found.push(`This must be less than ${below}.`)
  if (step !== null) {
    const times = value / step
    if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)))
      found.push(`This must be a multiple of ${step}.`)
  }
  return found
}

function lengthProblems(length: number, { least, most }: { least: number; most: number }, what: string): string[] {
  const one = (limit: number): string => (limit === 1 ? what.slice(0, -1) : what)
  if (length < least)
    return [least === 1 && what === 'characters' ? 'This is needed.' : `At least ${least} ${one(least)}.`]
  return length > most ? [`At most ${most} ${one(most)}; this has ${length.toLocaleString('en')}.`] : []
}

/** The same JSON; the order of members does not count. */
export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (Object.is(one, other)) return true
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]))
  if (!isObject(one) || !isObject(other)) return false
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  )
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
