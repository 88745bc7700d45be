import type { CommitResult } from '../../../src/store/change.ts'
import type { Failure } from '../harness/failure.ts'
import type { PlannedCommit } from './plan-commit.ts'

/** What a writer says. Each attempt is told before it is made, each answer after it was given. */
export type WriterMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'not_opened'; readonly failure: Failure }
  | { readonly type: 'begin'; readonly planned: PlannedCommit }
  | { readonly type: 'repeat'; readonly commit: string }
  | { readonly type: 'answer'; readonly commit: string; readonly result: CommitResult }
  | { readonly type: 'failed'; readonly commit: string; readonly failure: Failure }
  | { readonly type: 'stopped' }

export type Entry = {
  readonly planned: PlannedCommit
  attempts: number
  readonly answers: CommitResult[]
  readonly failures: Failure[]
}

/** All that was heard about commits: the store is measured by it. */
export class Ledger {
  readonly entries = new Map<string, Entry>()
  answers = 0
  /** Of attempts to open the store. */
  readonly notOpened: Failure[] = []

  hear(message: WriterMessage): void {
    switch (message.type) {
      case 'begin':
        this.entries.set(message.planned.commit, { planned: message.planned, attempts: 1, answers: [], failures: [] })
        return
      case 'repeat':
        this.#entry(message.commit).attempts += 1
        return
      case 'answer':
        this.answers += 1
        this.#entry(message.commit).answers.push(message.result)
        return
      case 'failed':
        this.#entry(message.commit).failures.push(message.failure)
        return
      case 'not_opened':
        this.notOpened.push(message.failure)
        return
      case 'ready':
      case 'stopped':
        return
    }
  }

  failures(): Failure[] {
    return [...this.notOpened, ...[...this.entries.values()].flatMap((entry) => entry.failures)]
  }

  /** Those whose writer ended before it had an answer. */
  unanswered(): Entry[] {
    return [...this.entries.values()].filter((entry) => isUnanswered(entry))
  }

  #entry(commit: string): Entry {
    const entry = this.entries.get(commit)
    if (!entry) throw new Error(`nothing was said about the beginning of ${commit}`)
    return entry
  }
}

export function isUnanswered({ attempts, answers, failures }: Entry): boolean {
  return attempts > answers.length + failures.length
}
