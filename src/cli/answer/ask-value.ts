import { confirm, isCancel, multiselect, select, text } from '@clack/prompts'
import type { Json, JsonObject } from '../../log/json.ts'
import { Interrupted } from '../interrupt.ts'
import { safely } from '../terminal/safe-text.ts'

/**
 * Asks a person at the terminal for a value of a JSON Schema: a field for each property, a list to choose from for what is enumerated, and
 * JSON for whatever has no simpler form. It helps to write the answer; whoever records it checks it. Throws `Interrupted` on Ctrl-C.
 */
export async function askValue(schema: Json, label: string, isRequired = true): Promise<Json> {
  const { type, enum: values, const: constant, anyOf, oneOf, properties, items, ...rest } = objectOf(schema)
  const message = questionOf(label, rest)
  if (constant !== undefined) return constant
  if (Array.isArray(values)) return choose(message, values)
  const variants = anyOf ?? oneOf
  if (Array.isArray(variants)) return askVariant(variants, label, message)
  if (type === 'boolean') return answered(await confirm({ message }))
  if (type === 'number' || type === 'integer') return askNumber(message, type, isRequired)
  if (type === 'string') return askText(message, isRequired)
  if (type === 'object' && properties) return askObject(objectOf(properties), rest['required'] ?? [], label)
  const { enum: choices } = objectOf(items ?? null)
  if (type === 'array' && Array.isArray(choices)) return askSeveral(message, choices)
  return askJson(message)
}

async function askObject(properties: JsonObject, required: Json, label: string): Promise<Json> {
  const names = Array.isArray(required) ? required : []
  const value: Record<string, Json> = {}
  for (const [name, schema] of Object.entries(properties)) {
    const path = label === '' ? name : `${label}.${name}`
    const isRequired = names.includes(name)
    const given = await askValue(schema, path, isRequired)
    if (isRequired || given !== null) value[name] = given
  }
  return value
}

async function askVariant(variants: readonly Json[], label: string, message: string): Promise<Json> {
  const options = variants.map((variant, index) => ({ value: index, label: safely(variantText(variant)) }))
  const chosen = answered(await select<number>({ message, options }))
  return askValue(variants[chosen]!, label)
}

function variantText(variant: Json): string {
  const { title, description, type, properties, enum: values, const: constant } = objectOf(variant)
  if (typeof title === 'string') return title
  if (typeof description === 'string') return description
  if (constant !== undefined) return JSON.stringify(constant)
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' or ')
  return properties ? `with ${Object.keys(properties).join(', ')}` : String(type ?? 'anything')
}

async function choose(message: string, values: readonly Json[]): Promise<Json> {
  const options = values.map((value, index) => ({ value: index, label: safely(shown(value)) }))
  return values[answered(await select<number>({ message, options }))]!
}

async function askSeveral(message: string, values: readonly Json[]): Promise<Json> {
  const options = values.map((value, index) => ({ value: index, label: safely(shown(value)) }))
  return answered(await multiselect<number>({ message, options, required: false })).map((index) => values[index]!)
}

async function askText(message: string, isRequired: boolean): Promise<Json> {
  const given = answered(await text({ message, defaultValue: '' })) ?? ''
  return given === '' && !isRequired ? null : given
}

async function askNumber(message: string, type: 'number' | 'integer', isRequired: boolean): Promise<Json> {
  const problem = (given = ''): string | undefined => {
    if (given.trim() === '') return isRequired ? 'A number is needed' : undefined
    const isFine = type === 'integer' ? Number.isSafeInteger(Number(given)) : Number.isFinite(Number(given))
    return isFine ? undefined : `That is no ${type}`
  }
  const given = answered(await text({ message, validate: problem }))
  return given.trim() === '' ? null : Number(given)
}

async function askJson(message: string): Promise<Json> {
  const problem = (given = ''): string | undefined => {
    try {
      JSON.parse(given)
      return undefined
    } catch {
      return 'That is not JSON'
    }
  }
  return JSON.parse(answered(await text({ message: `${message} (JSON)`, validate: problem })))
}

function questionOf(label: string, { title, description }: JsonObject): string {
  const asked = [title, description].filter((each) => typeof each === 'string')
  return safely([label, ...asked].filter((each) => each !== '').join(': ') || 'The answer')
}

function shown(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function answered<T>(given: T): Exclude<T, symbol> {
  if (isCancel(given)) throw new Interrupted()
  return given as Exclude<T, symbol>
}

function objectOf(schema: Json): { readonly [key: string]: Json } {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema) ? (schema as JsonObject) : {}
}
