import type { Json } from '../../base/json.ts'

/** What a person makes of a pending call. */
export type Decision =
  | { readonly verb: 'approve'; readonly args?: Json }
  | { readonly verb: 'deny'; readonly reason?: string }
  | { readonly verb: 'answer'; readonly value: Json }

/** What an asker can do: put questions to the person, and say something in between. */
export type Asker = {
  /** Null: the person wants to answer later, or nobody needs the answer any more. */
  ask(label: string, initial?: string): Promise<string | null>
  /** Asks until one of the choices is typed, by its first letter or in full. */
  choose<Choice extends string>(label: string, choices: readonly Choice[]): Promise<Choice | null>
  say(text: string): void
}
