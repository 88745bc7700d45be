import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { estimateTokens, gptTokenizer } from './count-tokens.ts'

const many = (text: string) => text.repeat(12)
const rows = Array.from({ length: 60 }, (_, n) => ({
  orderId: `A-${1000 + n}`,
  status: n % 3 ? 'shipped' : 'open',
  cents: 1_999 + n * 37,
  customer: { name: 'Ann Smith', city: 'Rome' },
}))
const logLines = Array.from(
  { length: 60 },
  (_, n) => `2026-03-0${(n % 9) + 1}T12:${10 + (n % 50)}:07.123Z INFO worker-${n} took batch ${n * 17} in ${n * 3} ms`,
)

const texts: [name: string, text: string][] = [
  [
    'English',
    many('The order was sent yesterday; it should be with you by Thursday. If you have questions, write to us. '),
  ],
  ['code', readFileSync(new URL('./count-tokens.ts', import.meta.url), 'utf8')],
  ['JSON', JSON.stringify(rows)],
  ['numbers', JSON.stringify(Array.from({ length: 400 }, (_, n) => Math.round(Math.sin(n) * 1e6) / 100))],
  ['log lines', logLines.join('\n')],
  [
    'markup',
    many('<div class="row"><span id="a1">Hello</span><a href="https://example.com/x?y=1&z=2">link</a></div>\n'),
  ],
  ['German', many('Die Bestellung wurde gestern verschickt und sollte spätestens am Donnerstag eintreffen. ')],
  ['French', many('La commande a été expédiée hier et devrait arriver au plus tard jeudi. ')],
  ['Russian', many('Заказ был отправлен вчера и должен прибыть не позднее четверга. ')],
  ['Greek', many('Η παραγγελία στάλθηκε χθες και αναμένεται να φτάσει το αργότερο την Πέμπτη. ')],
  ['Arabic', many('تم شحن الطلب أمس ومن المتوقع أن يصل يوم الخميس على أبعد تقدير. ')],
  ['Hindi', many('ऑर्डर कल भेज दिया गया था और गुरुवार तक पहुँच जाना चाहिए। ')],
  ['Chinese', many('订单昨天已经发货，最迟应在星期四送达。如果您对退款有任何疑问，请联系我们的客户服务部门。')],
  ['Japanese', many('注文は昨日発送されましたので、遅くとも木曜日までにはお届けできる予定です。')],
  ['Korean', many('주문은 어제 발송되었으며 늦어도 목요일까지 도착할 예정입니다. ')],
  ['emoji', many('Great 🎉🎉 your order 📦 is on its way 🚚💨 see you soon 👋😀 ')],
]

describe('the estimate', () => {
  test.each(texts)('is within a third of a tokenizer for %s', async (_, text) => {
    const counted = (await gptTokenizer())(text)
    const estimated = estimateTokens(text)
    expect(estimated).toBeGreaterThan((counted * 2) / 3)
    expect(estimated).toBeLessThan((counted * 4) / 3)
  })

  test('is nothing for no text, and never nothing for some', () => {
    expect(estimateTokens('')).toBe(0)
    expect(estimateTokens(' ')).toBe(1)
  })

  test.each([
    ['letters', ['a', 'z'], 0.21],
    ['capitals', ['A', 'Z'], 0.4],
    ['digits', ['0', '9'], 0.6],
    ['blanks', [' ', '\n'], 0.05],
    ['signs', ['`', '{', '@', '[', '/', ':', '\x7f'], 0.5],
    ['Latin', ['\x80', '\u024f'], 0.3],
    ['other alphabets', ['\u0250', '\u10ff'], 0.32],
    ['symbols', ['\u1100', '\u2e7f'], 0.5],
    ['ideographs', ['\u2e80', '\uabff'], 0.62],
    ['Hangul', ['\uac00', '\ud7ff', '\ue000', '\uffff'], 0.72],
    ['halves of a pair', ['\ud800', '\udfff'], 1],
  ])('is the same for the first and the last of the %s', (_, characters, each) => {
    for (const character of characters) expect(estimateTokens(character.repeat(1_000)) / 1_000).toBeCloseTo(each, 2)
  })

  test('of a long text is as good as that of its pieces', () => {
    const text = texts.map(([, piece]) => piece).join('\n')
    const pieces = texts.reduce((total, [, piece]) => total + estimateTokens(piece), 0)
    expect(estimateTokens(text) / pieces).toBeGreaterThan(0.85)
    expect(estimateTokens(text) / pieces).toBeLessThan(1.15)
  })
})

test('the tokenizer counts as OpenAI does, and the same text twice alike', async () => {
  const count = await gptTokenizer()
  expect([count('hello world'), count('hello world'), count('')]).toEqual([2, 2, 0])
  expect(count('<|endoftext|> is text like any other')).toBeGreaterThan(0)
})
