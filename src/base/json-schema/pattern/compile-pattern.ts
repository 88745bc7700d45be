import type { StepBudget } from '../step-budget.ts'
import { CharacterTest } from './character-test.ts'
import { type Pattern, type PositionKind, parsePattern } from './parse-pattern.ts'
import { stepsToParse } from './steps-to-parse.ts'

/** A machine with many states at once. Each instruction stands under its number; `next` of the last ones is that of `accept`. */
export type Program = { readonly instructions: readonly Instruction[]; readonly start: number }

export type Instruction =
  | { readonly type: 'character'; readonly test: CharacterTest; readonly next: number }
  | { readonly type: 'position'; readonly is: PositionKind; readonly next: number }
  /** Goes on where the look-around of this number holds, or does not. */
  | { readonly type: 'look'; readonly look: number; readonly isNegated: boolean; readonly next: number }
  | { readonly type: 'fork'; next: number; readonly other: number }
  | { readonly type: 'accept' }

export type CompiledPattern = {
  readonly main: Program
  /** Each may depend on those before it. One that looks ahead is written backwards, and is run from the end of the text. */
  readonly looks: readonly { readonly program: Program; readonly isAhead: boolean }[]
  /** It can only match from the beginning of the text. */
  readonly isAnchored: boolean
}

const stepsPerInstruction = 2

/** Throws `SyntaxError` for what is no regular expression, and `TooComplex`. */
export function compilePattern(source: string, steps: StepBudget): CompiledPattern {
  steps.take(stepsToParse(source))
  new RegExp(source, 'u')
  const pattern = parsePattern(source)
  const compiler = new PatternCompiler(steps)
  const main = compiler.program(pattern, true)
  return { main, looks: compiler.looks, isAnchored: isAnchored(pattern) }
}

class PatternCompiler {
  readonly looks: { program: Program; isAhead: boolean }[] = []
  readonly #tests = new Map<string, CharacterTest>()
  readonly #steps: StepBudget

  constructor(steps: StepBudget) {
    this.#steps = steps
  }

  program(pattern: Pattern, isForward: boolean): Program {
    const instructions: Instruction[] = [{ type: 'accept' }]
    const add = (instruction: Instruction): number => {
      this.#steps.take(stepsPerInstruction)
      return instructions.push(instruction) - 1
    }
    /** Where to begin in order to match the pattern and then go on at `next`. */
    const before = (part: Pattern, next: number): number => {
      this.#steps.take(1)
      switch (part.type) {
        case 'character':
          return add({ type: 'character', test: this.#test(part.source), next })
        case 'position':
          return add({ type: 'position', is: part.is, next })
        case 'look':
          return add({ type: 'look', look: this.#look(part), isNegated: part.isNegated, next })
        case 'sequence':
          return isForward
            ? part.items.reduceRight((entry, item) => before(item, entry), next)
            : part.items.reduce((entry, item) => before(item, entry), next)
        case 'choice':
          return part.options
            .map((option) => before(option, next))
            .reduceRight((other, option) => add({ type: 'fork', next: option, other }))
        case 'repeat': {
          let entry = next
          if (part.max === Infinity) {
            const loop = { type: 'fork' as const, next, other: next }
            entry = add(loop)
            loop.next = before(part.item, entry)
          } else {
            for (let n = part.min; n < part.max; n++) {
              entry = add({ type: 'fork', next: before(part.item, entry), other: next })
            }
          }
          for (let n = 0; n < part.min; n++) entry = before(part.item, entry)
          return entry
        }
      }
    }
    const start = before(pattern, 0)
    return { instructions, start }
  }

  #look({ body, isAhead }: Extract<Pattern, { type: 'look' }>): number {
    const program = this.program(body, !isAhead)
    return this.looks.push({ program, isAhead }) - 1
  }

  #test(source: string): CharacterTest {
    const known = this.#tests.get(source)
    if (known) return known
    const test = new CharacterTest(source, this.#steps)
    this.#tests.set(source, test)
    return test
  }
}

function isAnchored(pattern: Pattern): boolean {
  switch (pattern.type) {
    case 'position':
      return pattern.is === 'start'
    case 'sequence':
      return pattern.items.length > 0 && isAnchored(pattern.items[0]!)
    case 'choice':
      return pattern.options.every(isAnchored)
    case 'repeat':
      return pattern.min > 0 && isAnchored(pattern.item)
    default:
      return false
  }
}
