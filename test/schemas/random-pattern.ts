import type { SeededRandom } from '../faults/harness/seeded-random.ts'

const characters = [
  'a',
  'b',
  'c',
  '1',
  '_',
  ' ',
  '-',
  'é',
  '😀',
  '\\n',
  '\\u0041',
  '\\u{1F600}',
  '\\ud83d\\ude00',
  '\\x62',
]
const escapes = [
  '\\d',
  '\\D',
  '\\w',
  '\\W',
  '\\s',
  '\\S',
  '.',
  '\\p{L}',
  '\\P{Lu}',
  '\\p{Script=Greek}',
  '\\cJ',
  '\\0',
  '\\$',
  '\\ud83d',
]
const classes = [
  '[ab]',
  '[^a]',
  '[a-c1]',
  '[\\w-]',
  '[^\\s\\d]',
  '[]',
  '[^]',
  '[\\b\\]]',
  '[é-ü]',
  '[\\u{1F600}-\\u{1F610}]',
  '[^\\p{L}]',
  '[.^$]',
]
const positions = ['^', '$', '\\b', '\\B']
const quantifiers = ['*', '+', '?', '{2}', '{1,3}', '{2,}', '{0}', '*?', '+?', '??', '{1,2}?']
const groups = ['(', '(?:', '(?<name>', '(?=', '(?!', '(?<=', '(?<!']

/** A regular expression that JavaScript accepts, and that it answers soon on a short text. Some have back references. */
export function randomPattern(random: SeededRandom): string {
  for (;;) {
    const pattern = random.chance(0.03) ? `(a|b)${choice(random, 2)}\\1` : choice(random, 3)
    try {
      new RegExp(pattern, 'u')
      return pattern
    } catch {
      // Two groups of one name.
    }
  }
}

function choice(random: SeededRandom, depth: number): string {
  const options = Array.from({ length: random.chance(0.75) ? 1 : random.int(2, 3) }, () => sequence(random, depth))
  return options.join('|')
}

function sequence(random: SeededRandom, depth: number): string {
  return Array.from({ length: random.int(0, 4) }, () => term(random, depth)).join('')
}

function term(random: SeededRandom, depth: number): string {
  const kind = random.next()
  if (kind < 0.12) return random.pick(positions)
  if (kind < 0.32 && depth > 0) {
    const group = random.pick(groups)
    const isLook = /^\(\?(?:=|!|<=|<!)/.test(group)
    return `${group}${choice(random, depth - 1)})${isLook ? '' : quantifier(random)}`
  }
  const atom = kind < 0.6 ? random.pick(characters) : random.pick([escapes, classes][random.int(0, 1)]!)
  return atom + quantifier(random)
}

function quantifier(random: SeededRandom): string {
  return random.chance(0.3) ? random.pick(quantifiers) : ''
}

const texts = [
  'a',
  'b',
  'c',
  'A',
  '1',
  '_',
  ' ',
  '-',
  'é',
  'Ω',
  '😀',
  '\n',
  '\u2028',
  '\ud83d',
  '\ude00',
  '',
  '$',
  '\0',
  '\u00a0',
  '\b',
  ']',
]

/** Short, of the characters that such expressions are about. */
export function textFor(pattern: string, random: SeededRandom): string {
  const own = [...pattern].filter((character) => /[\w é]/.test(character))
  const pick = () => (own.length > 0 && random.chance(0.3) ? random.pick(own) : random.pick(texts))
  return Array.from({ length: random.int(0, 10) }, pick).join('')
}
