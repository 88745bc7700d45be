import type { Json } from 'perdure/client'

/** How one value is asked for. `json`: as text, because a form would not be simpler; `why` says so. */
export type Field = FieldKind & {
  readonly title: string | null
  readonly description: string | null
  /** Null is a value of its own here. */
  readonly isNullable: boolean
  readonly initial: Json | undefined
}

type FieldKind =
  | ({ readonly kind: 'text' } & TextRules)
  | ({ readonly kind: 'number' } & NumberRules)
  | { readonly kind: 'boolean' }
  | { readonly kind: 'choice'; readonly options: readonly Choice[] }
  | { readonly kind: 'constant'; readonly value: Json }
  | { readonly kind: 'object'; readonly properties: readonly Property[]; readonly isClosed: boolean }
  | { readonly kind: 'list'; readonly item: Field; readonly least: number; readonly most: number }
  | { readonly kind: 'json'; readonly why: string | null }

export type TextRules = {
  readonly format: string | null
  readonly least: number
  readonly most: number
  readonly pattern: string | null
}

export type NumberRules = {
  readonly isWhole: boolean
  readonly least: number
  readonly most: number
  /** Bounds that the number itself must not reach. */
  readonly above: number
  readonly below: number
  readonly step: number | null
}

export type Choice = { readonly value: Json; readonly label: string }

export type Property = { readonly name: string; readonly isRequired: boolean; readonly field: Field }

type Schema = { readonly [name: string]: unknown }

const mostFields = 100
const mostDepth = 5
const mostChoices = 2_000

/**
 * The fields of a JSON Schema. Never throws and never takes long, whatever the schema: what is too deep, too large, recursive or not understood is asked for as
 * JSON. The server checks every value against the schema itself.
 */
export function fieldsOf(schema: unknown): Field {
  return new Reader(schema).read(schema, 0, [])
}

class Reader {
  readonly #root: unknown
  #left = mostFields

  constructor(root: unknown) {
    this.#root = root
  }

  read(given: unknown, depth: number, refs: readonly string[]): Field {
    if (!isSchema(given)) return asJson({}, null)
    if (this.#left <= 0) return asJson(given, `There are more than ${mostFields} fields.`)
    this.#left -= 1
    if (typeof given['$ref'] === 'string') return this.#readRef(given, given['$ref'], depth, refs)
    if (depth > mostDepth) return asJson(given, 'It is nested too deeply for a form.')
    const unions = [given['anyOf'], given['oneOf']].filter(Array.isArray)
    const [union] = unions
    if (union) return unions.length > 1 ? asJson(given, severalForms) : this.#readUnion(given, union, depth, refs)
    if (Array.isArray(given['allOf']) || isSchema(given['if']) || isSchema(given['not']))
      return asJson(given, 'Its rules are more than a form can show.')
    if ('const' in given) return { ...about(given), kind: 'constant', value: given['const'] as Json }
    if (Array.isArray(given['enum'])) return choiceOf(given, given['enum'] as Json[])
    return this.#readType(given, depth, refs)
  }

  #readRef(given: Schema, ref: string, depth: number, refs: readonly string[]): Field {
    if (refs.includes(ref)) return asJson(given, 'It contains itself.')
    const target = targetOf(this.#root, ref)
    if (!isSchema(target)) return asJson(given, null)
    const { $ref: _, ...beside } = given
    return this.read({ ...target, ...beside }, depth, [...refs, ref])
  }

  #readType(given: Schema, depth: number, refs: readonly string[]): Field {
    const types = Array.isArray(given['type']) ? (given['type'] as unknown[]) : [given['type']]
    const real = types.filter((type) => type !== 'null')
    const isNullable = types.length > real.length || given['nullable'] === true
    const nullable = isNullable ? { isNullable } : {}
    if (real.length > 1) return { ...asJson(given, severalForms), ...nullable }
    switch (real[0] ?? (isNullable ? 'null' : typeByShape(given))) {
      case 'string':
        return { ...about(given), ...nullable, kind: 'text', ...textRules(given) }
      case 'number':
      case 'integer':
        return { ...about(given), ...nullable, kind: 'number', ...numberRules(given, real[0] === 'integer') }
      case 'boolean':
        return { ...about(given), ...nullable, kind: 'boolean' }
      case 'null':
        return { ...about(given), kind: 'constant', value: null }
      case 'object':
        return { ...this.#readObject(given, depth, refs), ...nullable }
      case 'array':
        return { ...this.#readList(given, depth, refs), ...nullable }
      default:
        return asJson(given, null)
    }
  }

  #readObject(given: Schema, depth: number, refs: readonly string[]): Field {
    const named = isSchema(given['properties']) ? given['properties'] : {}
    const names = Object.keys(named)
    if (names.length > this.#left) return asJson(given, `It has ${names.length.toLocaleString('en')} fields.`)
    const isClosed = given['additionalProperties'] === false
    if (names.length === 0 && !isClosed) return asJson(given, null)
    const required = new Set(Array.isArray(given['required']) ? given['required'] : [])
    const properties = names.map((name) => ({
      name,
      isRequired: required.has(name),
      field: this.read(named[name], depth + 1, refs),
    }))
    return { ...about(given), kind: 'object', properties, isClosed }
  }

  #readList(given: Schema, depth: number, refs: readonly string[]): Field {
    if (!isSchema(given['items'])) return asJson(given, null)
    const item = this.read(given['items'], depth + 1, refs)
    const least = count(given['minItems'], 0)
    const most = count(given['maxItems'], Number.POSITIVE_INFINITY)
    return { ...about(given), kind: 'list', item, least, most }
  }

  /** Null beside one other form, or constants: the rest is no form of fields. */
  #readUnion(given: Schema, members: readonly unknown[], depth: number, refs: readonly string[]): Field {
    if (members.length > mostChoices) return asJson(given, severalForms)
    const real = members.filter((member) => !(isSchema(member) && member['type'] === 'null'))
    const isNullable = real.length < members.length
    const nullable = isNullable ? { isNullable } : {}
    const [only] = real
    if (real.length === 1 && isSchema(only)) {
      const { anyOf: _, oneOf: __, ...beside } = given
      return { ...this.read({ ...only, ...beside }, depth, refs), ...nullable }
    }
    const constants = real.filter((member): member is Schema => isSchema(member) && 'const' in member)
    if (real.length > 0 && constants.length === real.length) {
      const options = constants.map(({ const: value, title }) => choice(value as Json, title))
      return { ...about(given), ...nullable, kind: 'choice', options }
    }
    return { ...asJson(given, severalForms), ...nullable }
  }
}

const severalForms = 'It can have several forms.'

function asJson(given: Schema, why: string | null): Field {
  return { ...about(given), kind: 'json', why }
}

function about({ title, description, default: initial }: Schema) {
  return {
    title: typeof title === 'string' && title !== '' ? title : null,
    description: typeof description === 'string' && description !== '' ? description : null,
    isNullable: false,
    initial: initial as Json | undefined,
  }
}

function choiceOf(given: Schema, values: readonly Json[]): Field {
  const real = values.filter((value) => value !== null)
  const isNullable = real.length < values.length
  if (real.length > mostChoices) return asJson(given, `It is one of ${real.length.toLocaleString('en')} values.`)
  return { ...about(given), isNullable, kind: 'choice', options: real.map((value) => choice(value, undefined)) }
}

function choice(value: Json, title: unknown): Choice {
  if (typeof title === 'string' && title !== '') return { value, label: title }
  return { value, label: typeof value === 'string' ? value : JSON.stringify(value) }
}

function textRules(given: Schema): TextRules {
  return {
    format: typeof given['format'] === 'string' ? given['format'] : null,
    least: count(given['minLength'], 0),
    most: count(given['maxLength'], Number.POSITIVE_INFINITY),
    pattern: typeof given['pattern'] === 'string' ? given['pattern'] : null,
  }
}

function numberRules(given: Schema, isWhole: boolean): NumberRules {
  const bound = (name: string, none: number): number =>
    typeof given[name] === 'number' ? (given[name] as number) : none
  const step = bound('multipleOf', 0)
  return {
    isWhole,
    least: bound('minimum', Number.NEGATIVE_INFINITY),
    most: bound('maximum', Number.POSITIVE_INFINITY),
    above: bound('exclusiveMinimum', Number.NEGATIVE_INFINITY),
    below: bound('exclusiveMaximum', Number.POSITIVE_INFINITY),
    step: step > 0 ? step : null,
  }
}

function count(given: unknown, none: number): number {
  return typeof given === 'number' && given >= 0 ? given : none
}

/** A schema without a type that says what it is by what it has. */
function typeByShape(given: Schema): string | undefined {
  if (isSchema(given['properties'])) return 'object'
  return isSchema(given['items']) ? 'array' : undefined
}

/** Only places in the same document: `#`, `#/$defs/Name`. */
function targetOf(root: unknown, ref: string): unknown {
  if (!ref.startsWith('#') || ref.length > 1_000) return undefined
  const names = ref.slice(1).split('/').slice(1)
  let found: unknown = root
  for (const name of names) {
    if (!isSchema(found)) return undefined
    const key = decoded(name).replaceAll('~1', '/').replaceAll('~0', '~')
    found = Object.hasOwn(found, key) ? found[key] : undefined
  }
  return found
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The fields of a value that no schema describes: an object by its members, everything else by its type. */
export function fieldsOfValue(value: Json): Field {
  return fieldsOf(schemaByValue(value, 0))
}

function schemaByValue(value: Json, depth: number): Schema {
  if (typeof value === 'string') return { type: 'string' }
  if (typeof value === 'number') return { type: 'number' }
  if (typeof value === 'boolean') return { type: 'boolean' }
  if (value === null || Array.isArray(value) || depth > 2) return {}
  const entries = Object.entries(value)
  if (entries.length > mostFields) return {}
  const properties = Object.fromEntries(entries.map(([name, member]) => [name, schemaByValue(member, depth + 1)]))
  return { type: 'object', properties, required: Object.keys(value), additionalProperties: false }
}
