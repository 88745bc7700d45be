import type { StepBudget } from '../step-budget.ts'
import { propertiesIn } from './steps-to-parse.ts'

/** JavaScript compiles a class when it is first used; a Unicode property has up to some hundred ranges. */
const stepsPerClass = 100
const stepsPerProperty = 6_000
const stepsBeyondAscii = 4

/** Whether one character is of a class. JavaScript itself is asked, so that every escape and class means what it means there. */
export class CharacterTest {
  readonly #code: number | null
  readonly #expression: RegExp | null
  /** Of ASCII: 1 is yes, 2 is no, 0 was not asked for yet. */
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
