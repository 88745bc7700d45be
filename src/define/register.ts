import type { TurnState } from '../log/state.ts'
import type { BuiltinScope } from './create-scope.ts'

/** Where an app tells its own types: `declare module 'perdure' { interface Register { scope: AppScope } }`. */
// biome-ignore lint/suspicious/noEmptyInterface: apps merge their members into it, which only an interface allows
export interface Register {}

/**
 * Who acts: the app's own type when it registered one. Never stored.
 * A turn that goes on after a crash has what `restoreScope` gives, and without it a system scope: see `isSystemScope`.
 */
export type Scope = Register extends { readonly scope: infer AppScope } ? AppScope : BuiltinScope

/** Identities are never stored: they come from who acted in this process, or are restored from the id that was. */
export type ScopeSource = {
  ofTurn(turn: TurnState): Promise<Scope>
  /** Of whoever let the call run: the one who approved it, else the one whose turn it is. */
  ofCall(turn: TurnState, callId: string): Promise<Scope>
  /** Where nobody has a turn: null only in the tenant of those who have none, so that nothing of a tenant is taken for nobody's. */
  ofNobody(): Promise<Scope | null>
}
