import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Candidate, keyOf } from './candidate.ts'

/** What a person found out about a bug that no test noticed. */
export type Judgement = Pick<Candidate, 'file' | 'operator' | 'code' | 'change'> & {
  readonly nth?: number
  /** `equivalent`: nothing that anyone can see is different. `changes`: something is, and no test shows it. */
  readonly judgement: 'equivalent' | 'changes'
  readonly why: string
}

const file = join(import.meta.dirname, '..', 'judged.json')

export async function readJudgements(): Promise<ReadonlyMap<string, Judgement>> {
  const all = JSON.parse(await readFile(file, 'utf8')) as Judgement[]
  return new Map(all.map((one) => [keyOf({ nth: 0, ...one }), one]))
}

/** What to put into the list for a survivor, once it was looked at. */
export function toBeJudged({ file, operator, code, change, nth }: Candidate): Judgement {
  return { file, operator, code, change, ...(nth > 0 ? { nth } : {}), judgement: 'changes', why: '' }
}
