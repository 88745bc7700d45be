import type { InboxItem } from 'perdure/client'
import { describe, expect, test } from 'vitest'
import { didOf, headline, outcomeOf, outcomeWords } from './words.ts'

const item = (change: object): InboxItem =>
  ({
    kind: 'approval',
    tool: 'refund',
    args: { orderId: 'o-17', cents: 5000 },
    prompt: null,
    ...change,
  }) as unknown as InboxItem

describe('headline', () => {
  test('says what will happen in the words of the tool', () => {
    expect(headline(item({ description: 'Refund 50.00 EUR for order o-17' }))).toBe('Refund 50.00 EUR for order o-17')
    expect(headline(item({ prompt: { question: 'Where to?' } }))).toBe('Where to?')
  })

  test('names the tool and its arguments where the tool says nothing', () => {
    expect(headline(item({}))).toBe('refund  orderId: o-17, cents: 5000')
    expect(headline(item({ args: {} }))).toBe('refund')
    expect(headline(item({ kind: 'flow', tag: null, args: null }))).toBe('A session asks for an answer')
  })

  test('shows characters that would turn its order around, and ends', () => {
    expect(headline(item({ description: 'Pay \u202e05' }))).toBe('Pay ‹202e›05')
    expect(headline(item({ description: 'x'.repeat(1_000_000) })).length).toBe(300)
  })
})

describe('what came of an item', () => {
  const winner = { who: 'bob', status: 'denied', value: { reason: 'no' }, at: 5 } as const

  test('an answer that came second says whose came first, and when', () => {
    const lost = outcomeOf({ accepted: false, resolution: winner }, 'approved', 'approval')
    expect(lost).toEqual({ type: 'lost', who: 'bob', did: 'denied', at: 5 })
    expect(outcomeWords(lost)).toBe('Denied by bob')
  })

  test('an answer that counts is the person’s own', () => {
    expect(outcomeWords(outcomeOf({ accepted: true }, 'approved', 'approval'))).toBe('Approved by you')
  })

  test('an item without an answer has expired, or is gone', () => {
    expect(outcomeWords({ type: 'lost', who: null, did: didOf('expired', 'approval'), at: 5 })).toBe(
      'Expired without an answer',
    )
    expect(outcomeWords({ type: 'lost', who: null, did: didOf(null, 'approval'), at: 5 })).toBe('No longer waiting')
    expect(didOf('resolved', 'elicitation')).toBe('answered')
  })
})
