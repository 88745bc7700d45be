import type { Json, JsonObject } from '../../base/json.ts'
import { validateOutside } from '../../define/validate.ts'

/** One question of a form. */
export type FormField = {
  /** Null: the answer itself. */
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

/** What is written before the line: the name, what may be typed, and whether it may be left out. */
export function fieldLabel({ name, schema, isRequired }: FormField): string {
  const title = typeof schema['title'] === 'string' ? schema['title'] : (name ?? 'answer')
  const hint = [hintOf(schema), isRequired ? '' : 'Enter: none'].filter(Boolean).join('; ')
  return `${title}${hint === '' ? '' : ` (${hint})`} ›`
}

/** What a field is filled with before somebody types. */
export function fieldDefault({ schema }: FormField): string {
  const value = schema['default']
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export type FieldAnswer =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: true; readonly value: undefined }
  | { readonly ok: false; readonly problem: string }

/** Reads what was typed. `undefined` leaves the field out. */
export async function readField(field: FormField, typed: string): Promise<FieldAnswer> {
  const text = typed.trim()
  if (text === '' && !field.isRequired) return { ok: true, value: undefined }
  const value = asType(field.schema, text)
  const checked = validateOutside(field.schema, value)
  if (checked.ok || checked.isTooComplex) return { ok: true, value }
  if (text === '') return { ok: false, problem: 'it is needed' }
  return { ok: false, problem: choicesOf(field.schema) ? `choose one of ${hintOf(field.schema)}` : checked.issues }
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

export function choicesOf(schema: JsonObject): readonly Json[] | null {
  if (Array.isArray(schema['enum'])) return schema['enum'] as readonly Json[]
  return 'const' in schema ? [schema['const'] as Json] : null
}

function hintOf(schema: JsonObject): string {
  const choices = choicesOf(schema)
  if (choices) return choices.map((choice, index) => `${index + 1} ${String(choice)}`).join(', ')
  switch (schema['type']) {
    case 'string':
      return typeof schema['format'] === 'string' ? schema['format'] : ''
    case 'boolean':
      return 'yes or no'
    case 'number':
      return 'a number'
    case 'integer':
      return 'a whole number'
    case 'array':
      return 'separated by commas'
    default:
      return 'JSON or text'
  }
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON where it is JSON, else the text itself. */
export function readJsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
