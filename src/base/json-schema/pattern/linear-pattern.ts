import type { StepBudget } from '../step-budget.ts'
import { type CompiledPattern, compilePattern, type Program } from './compile-pattern.ts'
import type { PositionKind } from './parse-pattern.ts'

/**
 * A regular expression that gives the same answer as `new RegExp(source, 'u').test(text)`, in steps that grow with the size of the expression times the
 * length of the text and no faster: all its states go over the text together, so that nothing is tried twice.
 */
export class LinearPattern {
  readonly #compiled: CompiledPattern

  /** Throws `SyntaxError` for what is no regular expression, and `TooComplex` for what has no such bound. */
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
  /** Of each look-around that is known: at which positions it holds. */
  readonly held: Uint8Array[]
  readonly steps: StepBudget
}

/**
 * Lets the program begin at every position, or at the first one alone, and tells each at which it accepts. True as soon as `onAccept` is.
 * Positions lie between characters: position 3 has three characters before it.
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

/** Of whole characters; half of a pair that stands alone is one by itself. */
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
