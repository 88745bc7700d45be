import type { Json } from '../base/json.ts'

/**
 * The type of a value after it is recorded, as `normaliseResult` does it: undefined becomes null, undefined members are
 * dropped, `toJSON` is applied. `never` if it cannot be recorded: such a call ends `{ ok: false, outcome: 'ran' }`.
 */
export type Jsonify<T> = unknown extends T
  ? Json
  : [T] extends [Json]
    ? T
    : T extends null | boolean | number | string
      ? T
      : T extends void
        ? null
        : T extends { toJSON(...args: never[]): infer R }
          ? Jsonify<R>
          : T extends NotJson
            ? never
            : T extends readonly unknown[]
              ? { [Index in keyof T]: Jsonify<T[Index]> }
              : T extends object
                ? JsonifyObject<T>
                : never

type NotJson =
  | bigint
  | symbol
  | ((...args: never[]) => unknown)
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | (WeakKey & { readonly [Symbol.toStringTag]: string })

/** A member that may be undefined may be absent. */
type JsonifyObject<T> = Flat<
  {
    [Key in keyof T as Key extends string | number
      ? Presence<T[Key]> extends 'always'
        ? Key
        : never
      : never]: Jsonify<T[Key]>
  } & {
    [Key in keyof T as Key extends string | number
      ? Presence<T[Key]> extends 'sometimes'
        ? Key
        : never
      : never]?: Jsonify<Exclude<T[Key], undefined>>
  }
>

type Presence<T> = unknown extends T
  ? 'sometimes'
  : undefined extends T
    ? [Exclude<T, undefined>] extends [never]
      ? 'never'
      : 'sometimes'
    : 'always'

type Flat<T> = { [Key in keyof T]: T[Key] }
