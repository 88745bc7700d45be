import type { Json } from '../../base/json.ts'
import { askForm } from './ask-form.ts'
import type { Asker, Decision } from './decision.ts'

/** A tool that a browser or an app runs. A terminal cannot, but a person may say what came of it. Null: later. */
export async function askClientTool(schema: Json, asker: Asker): Promise<Decision | null> {
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
