/** Whose rules a prompt is held against. */
export type PromptProvider = 'openai' | 'anthropic' | 'google'

export type PromptRules = {
  readonly beginsWithUser: boolean
  /** The last message is a user's or a tool's: there is something to answer. */
  readonly endsWithQuestion: boolean
  readonly answersAlternate: boolean
  readonly callId: RegExp
  readonly toolName: RegExp
  /** Where its own metadata is in `providerOptions`. */
  readonly namespaces: readonly string[]
  /** How many places of a prompt may be marked for its cache. */
  readonly breakpoints: number
}

export const promptRules: { readonly [provider in PromptProvider]: PromptRules } = {
  openai: {
    beginsWithUser: false,
    endsWithQuestion: false,
    answersAlternate: false,
    callId: /^.{1,40}$/s,
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    namespaces: ['openai', 'azure'],
    breakpoints: 0,
  },
  anthropic: {
    beginsWithUser: true,
    // Newer models do not go on with an answer that was begun for them.
    endsWithQuestion: true,
    // It joins the messages of one role itself.
    answersAlternate: false,
    callId: /^[a-zA-Z0-9_-]{1,64}$/,
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    namespaces: ['anthropic'],
    breakpoints: 4,
  },
  google: {
    beginsWithUser: true,
    endsWithQuestion: true,
    // A function call must come right after a user or a function response.
    answersAlternate: true,
    callId: /^.+$/s,
    toolName: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/,
    namespaces: ['google', 'vertex'],
    breakpoints: 0,
  },
}
