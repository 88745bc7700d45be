import { expect, test } from 'vitest'
import { byteSize, excerpt, hiddenIn, oneLine, shownText } from './shown-text.ts'

test('characters that turn text around or control a terminal are shown by their numbers; letters of any script stay', () => {
  expect(shownText('a\u202eb\u2069c\u001b[31m')).toBe('a‹202e›b‹2069›c‹001b›[31m')
  expect(shownText('line\n\ttab שלום 👩‍🚀')).toBe('line\n\ttab שלום 👩‍🚀')
  expect(shownText('\ud800')).toBe('\ufffd')
})

test('characters without a width are shown by their numbers, except where they belong to an emoji or a Persian word', () => {
  expect(shownText('pay\u200bpal \u00adx\u2028y \ufeff \u{e0041} a\u200db')).toBe(
    'pay‹200b›pal ‹00ad›x‹2028›y ‹feff› ‹e0041› a‹200d›b',
  )
  expect(shownText('👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 می\u200cخواهم')).toBe('👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 می\u200cخواهم')
  expect([hiddenIn('a\u200bb'), hiddenIn('👩\u200d🚀\n')]).toEqual([true, false])
})

test('a line is cut to a length', () => {
  expect(oneLine('  two\nlines ')).toBe('two lines')
  expect(oneLine('x'.repeat(20), 10)).toBe(`${'x'.repeat(10)}…`)
})

test('an excerpt has the words of markdown, without its simplest marks', () => {
  expect(excerpt('# Order\n\n- **Paid** back: `o-17`, see [the page](https://x.invalid/a) and ![a lamp](y.png)')).toBe(
    'Order Paid back: o-17, see the page and a lamp',
  )
  expect(excerpt('2 ** 3 and snake__case__name * 5')).toBe('2 ** 3 and snakecasename * 5')
  expect(excerpt(`**${'x'.repeat(50)}**`, 10)).toBe('**xxxxxxxx…')
})

test('sizes are read by people', () => {
  expect([999, 1_500, 2_000_000].map(byteSize)).toEqual(['999 B', '1.5 kB', '2 MB'])
})
