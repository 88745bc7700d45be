/** A bug, planted on purpose, and the cases that must notice it. */
export type Mutant = {
  /** What is wrong, as a sentence. */
  readonly name: string
  readonly edits: readonly Edit[]
  /** At least one of these must fail. */
  readonly killedBy: readonly Case[]
}

/** `find` must be there exactly once; otherwise the patch no longer applies, and that is an error of its own. */
export type Edit = { readonly file: string; readonly find: string; readonly replace: string }

export type Case = { readonly file: string; readonly test: string }
