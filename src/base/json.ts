/** What a log can hold: plain JSON, nothing else. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

/** An object of JSON. */
export type JsonObject = { readonly [key: string]: Json }
