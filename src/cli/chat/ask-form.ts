import type { Json, JsonObject } from '../../base/json.ts'
import { validateOutside } from '../../define/validate.ts'
import type { Asker } from './decision.ts'
import { choicesOf, type FormField, fieldDefault, fieldLabel, formFields, readField } from './form-field.ts'

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
