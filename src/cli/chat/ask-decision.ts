import type { Json, JsonObject } from '../../base/json.ts'
import { validateOutside } from '../../define/validate.ts'
import type { PendingItem } from '../../view/view.ts'
import {
  choicesOf,
  type FormField,
  fieldDefault,
  fieldLabel,
  formFields,
  readField,
  readJsonOrText,
} from './form-field.ts'

/** Asks a person what a pending call needs. Null: later. */
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
    // A child agent answers for itself; what it waits for is an item of its own.
    case 'sub_agent':
      return null
  }
}

/** What a person makes of a pending call. */
export type Decision =
  | { readonly verb: 'approve'; readonly args?: Json }
  | { readonly verb: 'deny'; readonly reason?: string }
  | { readonly verb: 'answer'; readonly value: Json }

/** What an asker can do: put questions to the person, and say something in between. */
export type Asker = {
  /** Null: the person wants to answer later, or nobody needs the answer any more. */
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
      asker.say(`That is not JSON (${(error as Error).message}). Mend it, or press Escape.`)
      text = typed
    }
  }
}

/** A tool that a browser or an app runs. A terminal cannot, but a person may say what came of it. Null: later. */
async function askClientTool(schema: Json, asker: Asker): Promise<Decision | null> {
  asker.say('A client has to run this tool. A terminal cannot; you may answer in its place.')
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

/** The answer is `{ ok, result }` or `{ ok, error }`; a person is only asked for the result. */
function resultSchema(schema: Json): Json {
  const branch = (schema as { anyOf?: { properties?: { result?: Json } }[] } | null)?.anyOf?.[0]
  return branch?.properties?.result ?? true
}

/** About a call that was started and has no result. Null: later. */
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
    // What cannot be judged here is judged where it is sent to.
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
    // A long text is mended; a wrong choice is made anew.
    text = choicesOf(field.schema) ? fieldDefault(field) : typed
  }
}
