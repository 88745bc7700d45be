import type { Json } from '../json.ts'
import type { Evaluation } from './evaluation.ts'
import type { Noted } from './noted.ts'

/** A schema that has been read: what is asked of a value, in order. */
export type SchemaNode = {
  /** Of every value. */
  readonly checks: Check[]
  /** Of values of a type. */
  readonly typed: { [Type in JsonType]?: Check[] }
  /** Schemas that it applies to the same value. */
  readonly inPlace: SchemaNode[]
}

/** Whether a keyword is content with a value. Must take the steps it needs, and tell `evaluation.refuse` why not. */
export type Check = (value: Json, evaluation: Evaluation, noted: Noted | null) => boolean

export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

/** Throws for what is no JSON. */
export function typeOf(value: Json): JsonType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  if (type === 'string' || type === 'number' || type === 'boolean' || type === 'object') return type
  throw new Error(`a value is ${type}, which is not JSON`)
}

export function newNode(): SchemaNode {
  return { checks: [], typed: {}, inPlace: [] }
}

export const anything: SchemaNode = newNode()
export const nothing: SchemaNode = {
  ...newNode(),
  checks: [(_, evaluation) => evaluation.refuse(() => 'is not allowed')],
}
