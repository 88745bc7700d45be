import { TooComplex } from '../step-budget.ts'

/** A regular expression as a tree. Groups are dropped, because nothing is captured. */
export type Pattern =
  | { readonly type: 'character'; readonly source: string }
  | { readonly type: 'sequence'; readonly items: readonly Pattern[] }
  | { readonly type: 'choice'; readonly options: readonly Pattern[] }
  | { readonly type: 'repeat'; readonly item: Pattern; readonly min: number; readonly max: number }
  | { readonly type: 'position'; readonly is: PositionKind }
  | { readonly type: 'look'; readonly isAhead: boolean; readonly isNegated: boolean; readonly body: Pattern }

export type PositionKind = 'start' | 'end' | 'word_edge' | 'no_word_edge'

const maxGroupDepth = 100

/**
 * Parses a regular expression. Must be valid with the flag `u`: in that mode the grammar has no exceptions. Throws
 * `TooComplex` for back references, which cannot be bounded, and for modifiers.
 */
export function parsePattern(source: string): Pattern {
  return new PatternParser(source).parse()
}

class PatternParser {
  readonly #source: string
  #index = 0
  #depth = 0

  constructor(source: string) {
    this.#source = source
  }

  parse(): Pattern {
    return this.#choice()
  }

  #choice(): Pattern {
    if (++this.#depth > maxGroupDepth) throw this.#refusal(`groups nested deeper than ${maxGroupDepth} levels`)
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth -= 1
    return options.length === 1 ? options[0]! : { type: 'choice', options }
  }

  #sequence(): Pattern {
    const items: Pattern[] = []
    while (this.#index < this.#source.length && !this.#isAt('|') && !this.#isAt(')')) {
      items.push(this.#quantified(this.#term()))
    }
    return items.length === 1 ? items[0]! : { type: 'sequence', items }
  }

  #term(): Pattern {
    if (this.#take('^')) return { type: 'position', is: 'start' }
    if (this.#take('$')) return { type: 'position', is: 'end' }
    if (this.#take('\\b')) return { type: 'position', is: 'word_edge' }
    if (this.#take('\\B')) return { type: 'position', is: 'no_word_edge' }
    if (this.#take('(')) return this.#group()
    return { type: 'character', source: this.#character() }
  }

  #group(): Pattern {
    const look = this.#look()
    if (!look && !this.#take('?:') && this.#isAt('?')) this.#groupName()
    const body = this.#choice()
    this.#index += 1
    return look ? { type: 'look', ...look, body } : body
  }

  #look(): { isAhead: boolean; isNegated: boolean } | null {
    if (this.#take('?=')) return { isAhead: true, isNegated: false }
    if (this.#take('?!')) return { isAhead: true, isNegated: true }
    if (this.#take('?<=')) return { isAhead: false, isNegated: false }
    if (this.#take('?<!')) return { isAhead: false, isNegated: true }
    return null
  }

  #groupName(): void {
    if (!this.#take('?<')) throw this.#refusal('modifiers such as (?i:…)')
    this.#index = this.#source.indexOf('>', this.#index) + 1
  }

  /** The source of a single-character matcher: a character, an escape or a class. */
  #character(): string {
    const start = this.#index
    if (this.#take('[')) {
      while (!this.#take(']')) this.#index += this.#isAt('\\') ? 2 : 1
    } else if (this.#take('\\')) this.#escape()
    else this.#index += String.fromCodePoint(this.#source.codePointAt(start)!).length
    return this.#source.slice(start, this.#index)
  }

  /** Skips what follows a backslash. */
  #escape(): void {
    const rest = this.#source.slice(this.#index, this.#index + 11)
    if (/^[1-9k]/.test(rest)) throw this.#refusal('back references')
    if (/^[pPu]\{/.test(rest)) this.#index = this.#source.indexOf('}', this.#index) + 1
    else this.#index += /^(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|x..|c.|.)/.exec(rest)![0].length
  }

  #quantified(item: Pattern): Pattern {
    const [quantifier = '', least, most] = /^(?:[*+?]|\{(\d+)(?:,(\d*))?\})\??/.exec(this.#upcoming()) ?? []
    this.#index += quantifier.length
    switch (quantifier[0]) {
      case '*':
        return { type: 'repeat', item, min: 0, max: Infinity }
      case '+':
        return { type: 'repeat', item, min: 1, max: Infinity }
      case '?':
        return { type: 'repeat', item, min: 0, max: 1 }
      case '{':
        return { type: 'repeat', item, min: Number(least), max: most === '' ? Infinity : Number(most ?? least) }
      default:
        return item
    }
  }

  /** Text long enough to contain a quantifier. */
  #upcoming(): string {
    const end = this.#isAt('{') ? this.#source.indexOf('}', this.#index) + 2 : this.#index + 2
    return this.#source.slice(this.#index, end)
  }

  #isAt(text: string): boolean {
    return this.#source.startsWith(text, this.#index)
  }

  #take(text: string): boolean {
    if (!this.#isAt(text)) return false
    this.#index += text.length
    return true
  }

  #refusal(what: string): TooComplex {
    const shown = this.#source.length > 60 ? `${this.#source.slice(0, 60)}…` : this.#source
    return new TooComplex(`the pattern '${shown}' has ${what}, which cannot be checked in a bounded number of steps`)
  }
}

const stepsPerProperty = 4_000

/**
 * The cost of parsing a regular expression with the flag `u`. JavaScript looks up each Unicode property anew, and
 * compares each named group with the earlier ones.
 */
export function stepsToParse(source: string): number {
  const groups = occurrences(source, '(?<')
  return source.length + propertiesIn(source) * stepsPerProperty + (groups * groups) / 128
}

/** An upper bound. */
export function propertiesIn(source: string): number {
  return occurrences(source, '\\p') + occurrences(source, '\\P')
}

function occurrences(source: string, part: string): number {
  let count = 0
  for (let index = source.indexOf(part); index !== -1; index = source.indexOf(part, index + 1)) count += 1
  return count
}
