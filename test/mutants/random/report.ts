import { type Candidate, keyOf } from './candidate.ts'
import { type Judgement, toBeJudged } from './judgements.ts'
import type { Result } from './ledger.ts'

/** Of the bugs that change behaviour, so many must be found. */
const enough = 0.96

export type Findings = {
  readonly seed: number
  readonly chosen: readonly Candidate[]
  readonly passedOver: number
  readonly results: ReadonlyMap<string, Result>
  readonly judgements: ReadonlyMap<string, Judgement>
  readonly failingWithout: readonly string[]
}

/** Lists what no test noticed, with its judgement, and says which share was found. What was not judged counts as a change that no test shows, and what is unclear as not found. */
export function report({ seed, chosen, passedOver, results, judgements, failingWithout }: Findings): void {
  const of = (mutant: Candidate) => results.get(keyOf(mutant))
  const equivalent = chosen.filter((mutant) => judgements.get(keyOf(mutant))?.judgement === 'equivalent')
  const counted = chosen.filter((mutant) => !equivalent.includes(mutant))
  const survivors = counted.filter((mutant) => of(mutant)?.result === 'survived')
  const unclear = counted.filter((mutant) => of(mutant)?.result === 'unclear')
  const unjudged = survivors.filter((mutant) => !judgements.has(keyOf(mutant)))
  for (const mutant of [...survivors, ...unclear]) {
    console.log(`\n${mutant.file}:${mutant.line}  ${mutant.operator}  (${of(mutant)!.result}, ${of(mutant)!.note})`)
    console.log(`    ${mutant.code}\n    ${mutant.change}`)
    console.log(`    ${judgements.get(keyOf(mutant))?.why ?? `not judged: ${JSON.stringify(toBeJudged(mutant))}`}`)
  }
  for (const test of failingWithout) console.log(`\nfails without any bug, and was not asked: ${test}`)
  const killed = counted.length - survivors.length - unclear.length
  const share = killed / counted.length
  const summary = {
    seed,
    drawn: chosen.length,
    notCompiling: passedOver,
    equivalent: equivalent.length,
    killed,
    ofThoseTookTooLong: counted.filter((mutant) => of(mutant)?.result === 'took too long').length,
    survived: survivors.length,
    ofThoseNotJudged: unjudged.length,
    unclear: unclear.length,
    share: Math.round(share * 1000) / 1000,
  }
  console.log(`\n${JSON.stringify(summary)}`)
  if (share < enough) process.exitCode = 1
}
