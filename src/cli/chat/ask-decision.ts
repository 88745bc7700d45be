import type { Json, JsonObject } from '../../base/json.ts'
import { validateOutside } from '../../define/validate.ts'
import type { PendingItem } from '../../view/view.ts'

/** Asks a person for the answer to a pending call. Null: later. */
export async function askDecision(item: PendingItem, asker: Asker): Promise<Decision | null> {
  switch (item.kind) {
    case 'approval':
      return askApproval(item, asker)
    case 'recovery':
      return askRecovery(asker)
    case 'client_exec':
      return askClientTool(item.schema, asker)
    case 'elicitation': {
      const filled = await askForm(item.schema, asker)
      return filled && { verb: 'answer', value: filled.value }
    }
    // The calls of a child agent are items of their own.
    case 'sub_agent':
      return null
  }
}

/** A person's answer to a pending call. */
export type Decision =
  | { readonly verb: 'approve'; readonly args?: Json }
  | { readonly verb: 'deny'; readonly reason?: string }
  | { readonly verb: 'answer'; readonly value: Json }

/** Asks a person, and prints notes between the questions. */
export type Asker = {
  /** Null: the person wants to answer later, or the question was withdrawn. */
  ask(label: string, initial?: string): Promise<string | null>
  /** Asks until one of the choices is typed, by its first letter or in full. */
  choose<Choice extends string>(label: string, choices: readonly Choice[]): Promise<Choice | null>
  say(text: string): void
}

/** Null: later. */
async function askApproval({ args }: Pick<PendingItem, 'args'>, asker: Asker): Promise<Decision | null> {
  for (;;) {
    const choice = await asker.choose('approve?', ['yes', 'edit', 'no', 'later'])
    if (choice === null || choice === 'later') return null
    if (choice === 'yes') return { verb: 'approve' }
    if (choice === 'no') {
      const reason = await asker.ask('reason (Enter: none) ›')
      if (reason !== null) return { verb: 'deny', ...(reason.trim() === '' ? {} : { reason: reason.trim() }) }
    } else {
      const edited = await editArguments(args, asker)
      if (edited) return { verb: 'approve', args: edited.args }
    }
  }
}

/** Null: with Escape or an empty line, back to the choice. */
async function editArguments(args: Json, asker: Asker): Promise<{ args: Json } | null> {
  asker.say('Change the arguments; Enter approves with them, Escape goes back.')
  for (let text = JSON.stringify(args); ; ) {
    const typed = await asker.ask('arguments ›', text)
    if (typed === null || typed.trim() === '') return null
    try {
      return { args: JSON.parse(typed) as Json }
    } catch (error) {
      asker.say(`That is not JSON (${(error as Error).message}). Correct it, or press Escape.`)
      text = typed
    }
  }
}

/** A tool that a browser or an app runs. A terminal cannot run it, but a person can type its result. Null: later. */
async function askClientTool(schema: Json, asker: Asker): Promise<Decision | null> {
  asker.say('This tool runs in a client. A terminal cannot run it; you can answer instead.')
  for (;;) {
    const choice = await asker.choose('answer for it?', ['result', 'failed', 'later'])
    if (choice === null || choice === 'later') return null
    if (choice === 'failed') {
      const error = await asker.ask('what went wrong ›')
      if (error !== null) return { verb: 'answer', value: { ok: false, error: error.trim() || 'it failed' } }
    } else {
      const filled = await askForm(resultSchema(schema), asker)
      if (filled) return { verb: 'answer', value: { ok: true, result: filled.value } }
    }
  }
}

/** The schema of the whole answer is `{ ok, result }` or `{ ok, error }`; the person is only asked for the result. */
function resultSchema(schema: Json): Json {
  const branch = (schema as { anyOf?: { properties?: { result?: Json } }[] } | null)?.anyOf?.[0]
  return branch?.properties?.result ?? true
}

/** Asks about a call that was started and has no result. Null: later. */
async function askRecovery(asker: Asker): Promise<Decision | null> {
  for (;;) {
    const choice = await asker.choose('run it again, report it as unknown, or tell its result?', [
      'again',
      'report',
      'tell',
      'later',
    ])
    if (choice === null || choice === 'later') return null
    if (choice === 'again') return { verb: 'answer', value: 'rerun' }
    if (choice === 'report') return { verb: 'answer', value: 'report' }
    const result = await asker.ask('its result (JSON or text) ›')
    if (result !== null) return { verb: 'answer', value: { result: readJsonOrText(result) } }
  }
}

/** Asks for a value that fits a JSON Schema, field by field. Null: later. */
export async function askForm(schema: Json, asker: Asker): Promise<{ readonly value: Json } | null> {
  for (;;) {
    const filled = await fillFields(formFields(schema), asker)
    if (!filled) return null
    const asked = typeof schema === 'object' && schema !== null ? (schema as JsonObject) : {}
    const checked = validateOutside(asked, filled.value)
    // A schema that is too complex here is checked by the process that takes the answer.
    if (checked.ok || checked.isTooComplex) return filled
    asker.say(`The answer does not fit: ${checked.issues}. Fill it in again.`)
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

function choicesOf(schema: JsonObject): readonly Json[] | null {
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

/** The text parsed as JSON if it is JSON, else the text itself. */
function readJsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
