import { defineAgent, defineTool } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

/** A script in every way that a text can carry one. Nothing of it may run, and nothing may be loaded. */
export const hostileText = [
  '<script>globalThis.hacked = 1</script>',
  '<img src=x onerror="globalThis.hacked = 2">',
  '![pixel](https://tracker.invalid/pixel.png)',
  '[click](javascript:globalThis.hacked=3) and [mail](mailto:a@b.invalid) and [page](https://example.invalid/)',
  '[![nested](https://tracker.invalid/2.png)](https://example.invalid/)',
  '<svg onload="globalThis.hacked = 4"><style>@import "https://tracker.invalid/3.css"</style></svg>',
  'safe.\u202etxt.exe\u202c and \u2066isolated\u2069 and \u001b[31mred',
  '[ref]: https://tracker.invalid/4.png\n\n![ref]',
].join('\n\n')

/** More than a parser should be asked for at once. */
export const bombs = [
  Array.from({ length: 200 }, (_, depth) => `${'  '.repeat(depth)}- level ${depth}`).join('\n'),
  `${'>'.repeat(3_000)} quoted`,
  '_a__b'.repeat(8_000),
  `start-of-the-line-${'x'.repeat(1_000_000)}`,
]

const words = Array.from({ length: 160 }, (_, n) => `w${n} `)
/** Streams for longer than any test: it is cancelled. */
const endless = Array.from({ length: 20_000 }, (_, n) => `w${n} `)
const failed = new Set<string>()

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), cents: z.number().int() }),
  approval: 'required',
  run: ({ orderId, cents }) => ({ paid: cents, orderId, note: hostileText }),
})

const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)!
  const said = JSON.stringify(last)
  if (last.role === 'tool') return 'You have your money back.'
  const bomb = /bomb (\d)/.exec(said)
  if (bomb) return bombs[Number(bomb[1])]!
  if (said.includes('count on')) return { text: endless, delayMs: 15 }
  if (said.includes('count')) return { text: [...words, 'END'], delayMs: 15 }
  if (said.includes('hostile')) return { reasoning: hostileText, text: hostileText }
  if (said.includes('refund')) return { calls: [{ tool: 'refund', args: { orderId: hostileText, cents: 5_000 } }] }
  const once = /fail once (\S+)\./.exec(said)?.[1]
  if (once && !failed.has(once)) {
    failed.add(once)
    return { error: { status: 400, message: 'the model is not there' } }
  }
  return `Heard: ${/"text":"([^"]*)"/.exec(said)?.[1] ?? ''}`
})

export const world = { agents: [defineAgent({ name: 'support', model, tools: [refund] })] }
