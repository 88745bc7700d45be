import type { StepBudget } from '../step-budget.ts'
import { type Pattern, type PositionKind, parsePattern, propertiesIn, stepsToParse } from './parse-pattern.ts'

/**
 * A regular expression with the same result as `new RegExp(source, 'u').test(text)`, in a number of steps bounded by
 * the size of the expression times the length of the text. All states advance over the text together, so nothing is
 * tried twice.
 */
export class LinearPattern {
  readonly #compiled: CompiledPattern

  /** Throws `SyntaxError` for an invalid expression, and `TooComplex` for one without such a bound. */
  constructor(source: string, steps: StepBudget) {
    this.#compiled = compilePattern(source, steps)
  }

  /** Throws `TooComplex`. */
  test(text: string, steps: StepBudget): boolean {
    const { main, looks, isAnchored } = this.#compiled
    steps.take(20 + (text.length >> 1))
    const run: Run = { codes: codesOf(text), held: [], steps }
    for (const { program, isAhead } of looks) {
      steps.take(20 + (text.length >> 3))
      const holds = new Uint8Array(run.codes.length + 1)
      simulate(program, run, !isAhead, false, (position) => {
        holds[position] = 1
        return false
      })
      run.held.push(holds)
    }
    return simulate(main, run, true, isAnchored, () => true)
  }
}

type Run = {
  readonly codes: Int32Array
  /** For each look-around, the positions at which it holds. */
  readonly held: Uint8Array[]
  readonly steps: StepBudget
}

/**
 * Starts the program at every position, or only at the first, and reports each position where it accepts. Returns true
 * as soon as `onAccept` does. Positions are between characters: position 3 has three characters before it.
 */
function simulate(
  { instructions, start }: Program,
  run: Run,
  isForward: boolean,
  isAnchored: boolean,
  onAccept: (position: number) => boolean,
): boolean {
  const { codes, steps } = run
  const { length } = codes
  const visited = new Int32Array(instructions.length).fill(-1)
  const stack: number[] = []
  let waiting: number[] = []
  for (let n = 0; n <= length; n++) {
    const position = isForward ? n : length - n
    const arrived = waiting
    waiting = []
    if (n === 0 || !isAnchored) arrived.push(start)
    else if (arrived.length === 0) return false
    const code = n === length ? -1 : codes[isForward ? position : position - 1]!
    for (const entry of arrived) {
      stack.push(entry)
      while (stack.length > 0) {
        const number = stack.pop()!
        steps.take(1)
        if (visited[number] === n) continue
        visited[number] = n
        const instruction = instructions[number]!
        switch (instruction.type) {
          case 'accept':
            if (onAccept(position)) return true
            break
          case 'fork':
            stack.push(instruction.other, instruction.next)
            break
          case 'position':
            if (isAtPosition(instruction.is, position, codes)) stack.push(instruction.next)
            break
          case 'look':
            if ((run.held[instruction.look]![position] === 1) !== instruction.isNegated) stack.push(instruction.next)
            break
          case 'character':
            if (code !== -1 && instruction.test.matches(code, steps)) waiting.push(instruction.next)
            break
        }
      }
    }
  }
  return false
}

function isAtPosition(kind: PositionKind, position: number, codes: Int32Array): boolean {
  switch (kind) {
    case 'start':
      return position === 0
    case 'end':
      return position === codes.length
    case 'word_edge':
      return isWord(codes[position - 1]) !== isWord(codes[position])
    case 'no_word_edge':
      return isWord(codes[position - 1]) === isWord(codes[position])
  }
}

function isWord(code = -1): boolean {
  const isDigit = code >= 0x30 && code <= 0x39
  const isLetter = (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a)
  return isDigit || isLetter || code === 0x5f
}

/** Code points. A lone surrogate counts as one. */
function codesOf(text: string): Int32Array {
  const codes = new Int32Array(text.length)
  let count = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.codePointAt(index)!
    if (code > 0xffff) index += 1
    codes[count++] = code
  }
  return codes.subarray(0, count)
}

/** A nondeterministic automaton. Instructions are numbered by index; the last ones continue at `accept`. */
type Program = { readonly instructions: readonly Instruction[]; readonly start: number }

type Instruction =
  | { readonly type: 'character'; readonly test: CharacterTest; readonly next: number }
  | { readonly type: 'position'; readonly is: PositionKind; readonly next: number }
  /** Continues if look-around number `look` holds, or does not hold when negated. */
  | { readonly type: 'look'; readonly look: number; readonly isNegated: boolean; readonly next: number }
  | { readonly type: 'fork'; next: number; readonly other: number }
  | { readonly type: 'accept' }

type CompiledPattern = {
  readonly main: Program
  /** Each may depend on earlier ones. A lookahead is compiled backwards and runs from the end of the text. */
  readonly looks: readonly { readonly program: Program; readonly isAhead: boolean }[]
  /** It can match only from the beginning of the text. */
  readonly isAnchored: boolean
}

const stepsPerInstruction = 2

/** Throws `SyntaxError` for an invalid expression, and `TooComplex`. */
function compilePattern(source: string, steps: StepBudget): CompiledPattern {
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
    /** Where to start in order to match `part` and continue at `next`. */
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

/** JavaScript compiles a class when it is first used. A Unicode property may have hundreds of ranges. */
const stepsPerClass = 100
const stepsPerProperty = 6_000
const stepsBeyondAscii = 4

/**
 * Whether a character belongs to a class. Asks JavaScript's own engine, so that every escape and class means the same
 * as there.
 */
class CharacterTest {
  readonly #code: number | null
  readonly #expression: RegExp | null
  /** For ASCII: 1 is yes, 2 is no, 0 is not known yet. */
  readonly #known = new Uint8Array(128)

  /** `source`: a character, an escape or a class, as in a regular expression with the flag `u`. */
  constructor(source: string, steps: StepBudget) {
    const isLiteral = source !== '.' && !source.startsWith('\\') && !source.startsWith('[')
    if (!isLiteral) steps.take(stepsPerClass + source.length + propertiesIn(source) * stepsPerProperty)
    this.#code = isLiteral ? source.codePointAt(0)! : null
    this.#expression = isLiteral ? null : new RegExp(`^${source}$`, 'u')
  }

  matches(code: number, steps: StepBudget): boolean {
    if (this.#expression === null) return code === this.#code
    if (code < 128) {
      this.#known[code] ||= this.#expression.test(String.fromCharCode(code)) ? 1 : 2
      return this.#known[code] === 1
    }
    steps.take(stepsBeyondAscii)
    return this.#expression.test(String.fromCodePoint(code))
  }
}
