import { Validator } from '@cfworker/json-schema'
import { checkOutsideSchema, checkValue } from '../../src/base/json-schema/compile-schema.ts'
import { MalformedSchema } from '../../src/base/json-schema/read-keyword.ts'
import { TooComplex } from '../../src/base/json-schema/step-budget.ts'
import type { Pair } from './pair.ts'

/** What came of a pair. A number, because there are many: those from `tooComplex` on are refusals. */
export const verdicts = { none: 0, fits: 1, doesNotFit: 2, tooComplex: 3, malformed: 4, threw: 5 } as const

export type Verdict = (typeof verdicts)[keyof typeof verdicts]

/** As a server does: first the schema alone, as when it is sent; then the value, also where the schema was refused, as with an old log. */
export function ourVerdict({ schema, value }: Pair): Verdict {
  judged(() => checkOutsideSchema(schema))
  return judged(() => checkValue(schema, value, 'outside').fits)
}

/** By the validator that nothing bounds, with all its issues, as it was used. */
export function plainVerdict({ schema, value }: Pair): Verdict {
  const isOld = typeof schema === 'object' && /draft-0[467]/.test(String(schema['$schema']))
  return judged(
    () => new Validator(structuredClone(schema) as object, isOld ? '7' : '2020-12', false).validate(value).valid,
  )
}

/**
 * The same, with regular expressions that begin between characters alone, as the language has it. V8 also begins in the middle of a character beyond
 * U+FFFF when what it looks for there is empty: /\B/u.test('u😀d') is true.
 */
export function plainVerdictBySpecification(pair: Pair): Verdict {
  const native = globalThis.RegExp
  globalThis.RegExp = SpecifiedRegExp as unknown as RegExpConstructor
  try {
    return plainVerdict(pair)
  } finally {
    globalThis.RegExp = native
  }
}

/** The global one is replaced while this is used. */
const NativeRegExp = RegExp

class SpecifiedRegExp extends NativeRegExp {
  override test(text: string): boolean {
    if (!this.unicode) return super.test(text)
    const here = new NativeRegExp(this.source, 'uy')
    for (let index = 0; ; index += text.codePointAt(index)! > 0xffff ? 2 : 1) {
      here.lastIndex = index
      if (here.test(text)) return true
      if (index >= text.length) return false
    }
  }
}

function judged(judge: () => unknown): Verdict {
  try {
    return judge() ? verdicts.fits : verdicts.doesNotFit
  } catch (error) {
    if (error instanceof TooComplex) return verdicts.tooComplex
    return error instanceof MalformedSchema ? verdicts.malformed : verdicts.threw
  }
}
