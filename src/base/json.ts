/** What a log can hold: plain JSON, nothing else. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

/** An object of JSON. */
export type JsonObject = { readonly [key: string]: Json }

/** Readers for values that a provider made and nobody has checked. */

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The string, if it is one and says something. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
