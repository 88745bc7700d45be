import type { Json } from '../../base/json.ts'
import type { PendingItem } from '../../view/view.ts'
import { askForm, readJsonOrText } from './ask-form.ts'

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
