import { maxEventBytes } from '../store/checks.ts'

// What goes into the events of one call, so that each of them stays below what an event may hold.

/** Also twice: before and after an edit. */
export const maxArgsBytes = 480 * 1024
/** Of the JSON Schema of an answer. */
export const maxSchemaBytes = 256 * 1024
export const maxPromptBytes = 64 * 1024
export const maxResultBytes = maxEventBytes - 4_096
