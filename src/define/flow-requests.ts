import type { Json } from '../base/json.ts'

/** An effect as data: the host performs it and resumes the session with the result. */
export type FlowRequest = { readonly type: 'request'; readonly kind: string; readonly payload: Json }

/** Whether a session waits for its host to perform an effect. */
export function isRequest(tag: unknown): tag is FlowRequest {
  return (
    typeof tag === 'object' &&
    tag !== null &&
    'type' in tag &&
    tag.type === 'request' &&
    'kind' in tag &&
    'payload' in tag
  )
}

/** The kind of a request, or null. */
export function requestKind(tag: unknown): string | null {
  return isRequest(tag) ? tag.kind : null
}

/** The payload of a request, or null. */
export function requestPayload(tag: unknown): Json {
  return isRequest(tag) ? tag.payload : null
}
