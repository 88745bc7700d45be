import type { Json } from '../base/json.ts'
import type { SuspensionKind } from './events.ts'
import type { CallState } from './state.ts'

/** JSON Schema of the value that resolves a suspension of this kind. */
export function answerSchema(call: Pick<CallState, 'schema'>, kind: SuspensionKind): Json {
  switch (kind) {
    case 'approval':
      return { type: 'boolean' }
    case 'elicitation':
      return call.schema ?? true
    case 'client_exec':
    case 'sub_agent':
      return callResultSchema(call.schema ?? true)
    case 'recovery':
      return recoverySchema
  }
}

function callResultSchema(result: Json): Json {
  return {
    anyOf: [
      { type: 'object', properties: { ok: { const: true }, result }, required: ['ok', 'result'] },
      { type: 'object', properties: { ok: { const: false }, error: { type: 'string' } }, required: ['ok', 'error'] },
    ],
  }
}

const recoverySchema: Json = {
  anyOf: [{ enum: ['rerun', 'report'] }, { type: 'object', properties: { result: true }, required: ['result'] }],
}
