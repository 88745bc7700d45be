import { expectTypeOf, test } from 'vitest'
import type { Json } from '../base/json.ts'
import type { Jsonify } from './jsonify.ts'

test('JSON stays as it is', () => {
  expectTypeOf<Jsonify<{ a: 'x' | 1; b: readonly (boolean | null)[] }>>().toEqualTypeOf<{
    a: 'x' | 1
    b: readonly (boolean | null)[]
  }>()
  expectTypeOf<Jsonify<[number, string]>>().toEqualTypeOf<[number, string]>()
  expectTypeOf<Jsonify<Json>>().toEqualTypeOf<Json>()
})

test('nothing is null', () => {
  expectTypeOf<Jsonify<void>>().toEqualTypeOf<null>()
  expectTypeOf<Jsonify<string | undefined>>().toEqualTypeOf<string | null>()
  expectTypeOf<Jsonify<(number | undefined)[]>>().toEqualTypeOf<(number | null)[]>()
})

test('a member that may be undefined may be absent', () => {
  expectTypeOf<Jsonify<{ a: string | undefined; b?: number; c: undefined }>>().toEqualTypeOf<{
    a?: string
    b?: number
  }>()
})

test('toJSON is applied', () => {
  expectTypeOf<Jsonify<Date>>().toEqualTypeOf<string>()
  expectTypeOf<Jsonify<{ at: Date; of: { toJSON(): { id: Date } } }>>().toEqualTypeOf<{
    at: string
    of: { id: string }
  }>()
})

test('an interface and a class are taken by their members', () => {
  interface Payment {
    readonly id: string
    readonly at: Date
  }
  expectTypeOf<Jsonify<Payment>>().toEqualTypeOf<{ readonly id: string; readonly at: string }>()
})

test('what cannot be recorded has no type', () => {
  expectTypeOf<Jsonify<Map<string, number>>>().toEqualTypeOf<never>()
  expectTypeOf<Jsonify<Set<string>>>().toEqualTypeOf<never>()
  expectTypeOf<Jsonify<bigint>>().toEqualTypeOf<never>()
  expectTypeOf<Jsonify<() => void>>().toEqualTypeOf<never>()
  expectTypeOf<Jsonify<Uint8Array>>().toEqualTypeOf<never>()
})

test('what is not known is any JSON', () => {
  expectTypeOf<Jsonify<unknown>>().toEqualTypeOf<Json>()
})
