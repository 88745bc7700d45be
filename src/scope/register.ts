import type { BuiltinScope } from './create-scope.ts'

/** Where an app tells its own types: `declare module 'perdure' { interface Register { scope: AppScope } }`. */
// biome-ignore lint/suspicious/noEmptyInterface: apps merge their members into it, which only an interface allows
export interface Register {}

/**
 * Who acts: the app's own type when it registered one. Never stored.
 * A turn that goes on after a crash has what `restoreScope` gives, and without it a system scope: see `isSystemScope`.
 */
export type Scope = Register extends { readonly scope: infer AppScope } ? AppScope : BuiltinScope
