/** Who must act on an error. */
export type ErrorFamily = 'usage' | 'not_found' | 'conflict' | 'determinism' | 'model' | 'tool' | 'store'

/** Every code Perdure throws, with its family and the HTTP status it is told with. Each has a heading in `docs/errors.md`. */
export const errorCodes = {
  invalid_argument: { family: 'usage', status: 400 },
  invalid_id: { family: 'usage', status: 400 },
  invalid_value: { family: 'usage', status: 400 },
  event_too_large: { family: 'usage', status: 413 },
  event_invalid: { family: 'store', status: 500 },
  event_unknown: { family: 'store', status: 500 },
  conversation_not_found: { family: 'not_found', status: 404 },
  call_not_found: { family: 'not_found', status: 404 },
  conversation_exists: { family: 'conflict', status: 409 },
  key_reused: { family: 'conflict', status: 409 },
  store_failed: { family: 'store', status: 503 },
  store_busy: { family: 'store', status: 503 },
  store_closed: { family: 'store', status: 503 },
  schema_too_new: { family: 'store', status: 500 },
  missing_dependency: { family: 'usage', status: 500 },
  invalid_definition: { family: 'usage', status: 500 },
  schema_not_convertible: { family: 'usage', status: 500 },
  invalid_answer: { family: 'usage', status: 422 },
  hook_failed: { family: 'tool', status: 500 },
  injection_overflow: { family: 'usage', status: 500 },
  model_failed: { family: 'model', status: 502 },
  model_interrupted: { family: 'model', status: 502 },
  model_overloaded: { family: 'model', status: 503 },
  model_rejected: { family: 'model', status: 502 },
  model_unauthorized: { family: 'model', status: 502 },
  model_unreachable: { family: 'model', status: 503 },
  transform_failed: { family: 'usage', status: 500 },
  agent_missing: { family: 'not_found', status: 404 },
  agent_mismatch: { family: 'conflict', status: 409 },
  conversation_busy: { family: 'conflict', status: 409 },
  turn_not_found: { family: 'not_found', status: 404 },
  tenant_missing: { family: 'usage', status: 403 },
  runtime_closed: { family: 'usage', status: 503 },
  watcher_lagged: { family: 'conflict', status: 409 },
  context_overflow: { family: 'usage', status: 413 },
} as const satisfies Record<string, { family: ErrorFamily; status: number }>

export type ErrorCode = keyof typeof errorCodes
