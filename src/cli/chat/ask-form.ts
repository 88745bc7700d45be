import type { Json, JsonObject } from '../../base/json.ts'
import { validateOutside } from '../../define/validate.ts'
import { counted } from '../command.ts'
import type { Asker } from './ask-decision.ts'

/** Asks for a value that fits a JSON Schema, field by field. Null: later. */
export async function askForm(schema: Json, asker: Asker): Promise<{ readonly value: Json } | null> {
  for (;;) {
    const filled = await fillFields(formFields(schema), asker)
    if (!filled) return null
    const asked = typeof schema === 'object' && schema !== null ? (schema as JsonObject) : {}
    const checked = validateOutside(asked, filled.value)
    // A schema that is too complex here is checked by the process that takes the answer.
    if (checked.ok || checked.isTooComplex) return filled
    asker.say('Each field fits, but not all of them together. Fill them in again.')
  }
}

async function fillFields(fields: readonly FormField[], asker: Asker): Promise<{ value: Json } | null> {
  const entries: [string, Json][] = []
  for (const field of fields) {
    const { description } = field.schema
    if (typeof description === 'string') asker.say(description)
    const answer = await fillField(field, asker)
    if (!answer) return null
    if (field.name === null) return { value: answer.value ?? null }
    if (answer.value !== undefined) entries.push([field.name, answer.value])
  }
  return { value: Object.fromEntries(entries) }
}

async function fillField(field: FormField, asker: Asker): Promise<{ value: Json | undefined } | null> {
  for (let text = fieldDefault(field); ; ) {
    const typed = await asker.ask(fieldLabel(field), text)
    if (typed === null) return null
    const answer = await readField(field, typed)
    if (answer.ok) return answer
    asker.say(`That does not fit: ${answer.problem}.`)
    // A text is corrected; a choice is made again.
    text = choicesOf(field.schema) ? fieldDefault(field) : typed
  }
}

/** One question of a form. */
export type FormField = {
  /** Null: the field is the whole answer. */
  readonly name: string | null
  readonly schema: JsonObject
  readonly isRequired: boolean
}

/** The fields a schema asks for: those of an object, or the value itself. */
export function formFields(schema: Json): FormField[] {
  if (!isObject(schema)) return [{ name: null, schema: {}, isRequired: true }]
  const { type, properties, required } = schema
  if (type !== 'object' || !isObject(properties)) return [{ name: null, schema, isRequired: true }]
  const names = Array.isArray(required) ? required : []
  return Object.entries(properties).map(([name, property]) => ({
    name,
    schema: isObject(property) ? property : {},
    isRequired: names.includes(name),
  }))
}

/** The label before the line: the name, the values it takes, and whether it is optional. */
export function fieldLabel({ name, schema, isRequired }: FormField): string {
  const title = typeof schema['title'] === 'string' ? schema['title'] : (name ?? 'answer')
  const hint = [hintOf(schema), isRequired ? '' : 'Enter: none'].filter(Boolean).join('; ')
  return `${title}${hint === '' ? '' : ` (${hint})`} ›`
}

/** The text in a field before the person types. */
export function fieldDefault({ schema }: FormField): string {
  const value = schema['default']
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

type FieldAnswer =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: true; readonly value: undefined }
  | { readonly ok: false; readonly problem: string }

/** Reads the typed text. `undefined` leaves the field out. */
export async function readField(field: FormField, typed: string): Promise<FieldAnswer> {
  const text = typed.trim()
  if (text === '' && !field.isRequired) return { ok: true, value: undefined }
  const value = asType(field.schema, text)
  const checked = validateOutside(field.schema, value)
  if (checked.ok || checked.isTooComplex) return { ok: true, value }
  if (text === '') return { ok: false, problem: 'it is needed' }
  const words = whatFits(field.schema)
  // A rule without words of its own, such as `not`: the validator's message is better than none.
  return { ok: false, problem: ['a text', 'JSON or text'].includes(words) ? checked.issues : words }
}

function asType(schema: JsonObject, text: string): Json {
  const choices = choicesOf(schema)
  if (choices) {
    const index = /^\d+$/.test(text) ? Number(text) - 1 : -1
    return choices.find((choice) => String(choice) === text) ?? choices[index] ?? text
  }
  switch (schema['type']) {
    case 'string':
      return text
    case 'boolean':
      if (/^(y|yes|true)$/i.test(text)) return true
      return /^(n|no|false)$/i.test(text) ? false : text
    case 'number':
    case 'integer':
      return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text
    case 'array':
      return text.startsWith('[') ? readJsonOrText(text) : text.split(',').map((item) => itemOf(schema, item.trim()))
    default:
      return readJsonOrText(text)
  }
}

function itemOf(schema: JsonObject, text: string): Json {
  return isObject(schema['items']) ? asType(schema['items'], text) : readJsonOrText(text)
}

function choicesOf(schema: JsonObject): readonly Json[] | null {
  if (Array.isArray(schema['enum'])) return schema['enum'] as readonly Json[]
  return 'const' in schema ? [schema['const'] as Json] : null
}

/** The hint in a label: short, and empty where the name says enough. */
function hintOf(schema: JsonObject): string {
  if (schema['type'] === 'string' && !choicesOf(schema)) return formatOf(schema) ?? ''
  return whatFits(schema).replace(/^choose one of |^a list, /, '')
}

/** What a field takes, in words. */
function whatFits(schema: JsonObject): string {
  const choices = choicesOf(schema)
  if (choices) return `choose one of ${choices.map((choice, index) => `${index + 1} ${String(choice)}`).join(', ')}`
  switch (schema['type']) {
    case 'string':
      return textThatFits(schema)
    case 'boolean':
      return 'yes or no'
    case 'number':
    case 'integer':
      return numberThatFits(schema)
    case 'array':
      return listThatFits(schema)
    case 'object':
      return 'a JSON object such as {"name": "value"}'
    default:
      return 'JSON or text'
  }
}

const formats: Readonly<Record<string, string>> = {
  email: 'an e-mail address',
  uri: 'an address such as https://example.com',
  date: 'a date such as 2026-03-31',
  'date-time': 'a time such as 2026-03-31T09:30:00Z',
  time: 'a time such as 09:30:00Z',
  uuid: 'a UUID',
}

function formatOf({ format }: JsonObject): string | null {
  return typeof format === 'string' ? (formats[format] ?? format) : null
}

function textThatFits(schema: JsonObject): string {
  const { minLength, maxLength, pattern } = schema
  const length = range(minLength, maxLength, 'character')
  const shape = typeof pattern === 'string' && !schema['format'] ? `that matches ${pattern}` : ''
  return [formatOf(schema) ?? 'a text', length && `of ${length}`, shape].filter(Boolean).join(' ')
}

function numberThatFits(schema: JsonObject): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const limits = [
    typeof minimum === 'number' && `from ${minimum}`,
    typeof exclusiveMinimum === 'number' && `above ${exclusiveMinimum}`,
    typeof maximum === 'number' && `${typeof minimum === 'number' ? 'to' : 'up to'} ${maximum}`,
    typeof exclusiveMaximum === 'number' && `below ${exclusiveMaximum}`,
    typeof multipleOf === 'number' && `in steps of ${multipleOf}`,
  ]
  return [schema['type'] === 'integer' ? 'a whole number' : 'a number', ...limits].filter(Boolean).join(' ')
}

function listThatFits({ items, minItems, maxItems, uniqueItems }: JsonObject): string {
  const count = range(minItems, maxItems, 'value')
  const each = isObject(items) ? whatFits(items).replace('choose one of ', 'any of ') : ''
  return ['a list', count, each, uniqueItems === true && 'each once', 'separated by commas'].filter(Boolean).join(', ')
}

/** `at least 3 characters`, `2 to 5 values`; empty without limits. */
function range(least: Json | undefined, most: Json | undefined, noun: string): string {
  const [from, to] = [least, most].map((limit) => (typeof limit === 'number' ? limit : null)) as [
    number | null,
    number | null,
  ]
  if (from !== null && to !== null) return from === to ? counted(from, noun) : `${from} to ${counted(to, noun)}`
  if (from !== null) return `at least ${counted(from, noun)}`
  return to === null ? '' : `at most ${counted(to, noun)}`
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text parsed as JSON if it is JSON, else the text itself. */
export function readJsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
