import { expect, test } from 'vitest'
import { seededRandom } from '../../../../test/faults/harness/seeded-random.ts'
import { randomPattern, textFor } from '../../../../test/schemas/random-pattern.ts'
import { knowsModifiers } from '../../../../test/support/knows-modifiers.ts'
import { StepBudget, TooComplex } from '../step-budget.ts'
import { LinearPattern } from './linear-pattern.ts'

const endless = () => new StepBudget(Infinity)

const texts = [
  ...[
    '',
    'a',
    'b',
    'ab',
    'ba',
    'aab',
    'abc',
    'a b',
    ' ',
    '\n',
    'a\n',
    '\ra',
    '\u2028',
    '\u00a0',
    '\ufeff',
    'é',
    'Ω',
    'A',
    '_',
    '-',
    '1',
    '12',
  ],
  ...[
    '😀',
    'a😀',
    '😀😀',
    '\ud83d',
    '\ude00',
    '\ude00\ud83d',
    '\0',
    '$',
    '^',
    '.',
    ']',
    '\\',
    '/',
    '{1}',
    'aaaaaaaaaaaaaaaaaaaa',
  ],
]

test.each([
  ...[
    '',
    'a',
    '^a',
    'a$',
    '^$',
    '^a*$',
    'a|b',
    '^(?:a|b)+$',
    '(a)(b)',
    '(?<n>a)b',
    'a{2}',
    '^a{2,}$',
    '^a{1,2}$',
    '^a{0}b',
    'a??b',
    '^(?:a*)*$',
  ],
  ...[
    '.',
    '^.$',
    '^..$',
    '\\d',
    '\\D',
    '\\w',
    '^\\W$',
    '\\s',
    '^\\S+$',
    '[ab]',
    '[^ab]',
    '^[^]$',
    '[]',
    '[\\]]',
    '[\\b]',
    '[\\-a]',
    '[a-]',
    '[.$^]',
  ],
  ...[
    '\\b',
    '\\B',
    '\\bb',
    'a\\b',
    '\\n',
    '\\r',
    '\\t',
    '\\0',
    '\\cJ',
    '\\x61',
    '\\u0061',
    '\\u{61}',
    '\\u{1F600}',
    '\\ud83d\\ude00',
    '^\\ud83d$',
    '\\ud83d',
    '\\ude00',
  ],
  ...[
    '\\p{L}',
    '^\\P{L}$',
    '\\p{Script=Greek}',
    '[\\p{Lu}\\d]',
    '[\\u{1F600}-\\u{1F64F}]',
    '\\$',
    '\\^',
    '\\.',
    '\\\\',
    '\\/',
    '\\{1\\}',
  ],
  ...[
    'a(?=b)',
    'a(?!b)',
    '(?<=a)b',
    '(?<!a)b',
    '(?<=^a)b',
    '(?=a*b$)a',
    '^(?!.*\\s)',
    '(?<=(?<!b)a)b',
    '(?!(?=a)b)',
    '(?:(?!b).)+$',
    '(?<=😀)$',
  ],
])('%s matches what JavaScript has it match', (source) => {
  const pattern = new LinearPattern(source, endless())
  const native = new RegExp(source, 'u')
  const ours = texts.filter((text) => pattern.test(text, endless()))
  expect(ours).toEqual(texts.filter((text) => native.test(text)))
})

test('so do random patterns on random texts', () => {
  const random = seededRandom(11)
  let compared = 0
  for (let n = 0; n < 3_000; n++) {
    const source = randomPattern(random)
    const text = textFor(source, random)
    try {
      const ours = new LinearPattern(source, endless()).test(text, endless())
      expect({ source, text, matches: ours }).toEqual({ source, text, matches: new RegExp(source, 'u').test(text) })
      compared += 1
    } catch (error) {
      if (!(error instanceof TooComplex)) throw error
    }
  }
  expect(compared).toBeGreaterThan(2_800)
})

test.each([
  '^(a+)+$',
  '^(a|a)*$',
  '(?:a?){30}a{30}$',
  '(x+x+)+y',
  '^(?=(a+)+$)',
  '(?<=(a+)+)b',
  '.*.*.*=',
  '[\\p{L}é]*!$',
])('%s takes steps that grow with the text, and no faster', (source) => {
  const pattern = new LinearPattern(source, endless())
  const stepsFor = (length: number): number => {
    const steps = endless()
    pattern.test(`${'a'.repeat(length)}?`, steps)
    return steps.taken
  }
  expect(stepsFor(4_000) / stepsFor(2_000)).toBeLessThan(2.1)
})

test('the same text takes the same steps, also the second time', () => {
  const taken = [1, 2].map(() => {
    const steps = endless()
    new LinearPattern('^[\\p{L}\\d]+é?$', steps).test('aé1😀', steps)
    return steps.taken
  })
  expect(taken[0]).toBe(taken[1])
})

test.each([
  ['(', SyntaxError],
  ['\\1', SyntaxError],
  ['(a)\\1', TooComplex],
  ['(?<n>a)\\k<n>', TooComplex],
  ['(?i:a)', knowsModifiers ? TooComplex : SyntaxError],
])('%s is refused', (source, refusal) => {
  expect(() => new LinearPattern(source, endless())).toThrow(refusal)
})
