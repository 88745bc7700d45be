import { expect, test } from 'vitest'
import { demoLives } from './demo-lives.ts'
import { keys } from './start-in-terminal.ts'

const lives = demoLives()

test('killed during a stream, during a tool and with an approval pending, the demo goes on where it was', {
  timeout: 120_000,
}, async () => {
  const first = lives.live('slow')
  await first.shows('›')
  first.type(`tell me a story${keys.enter}`)
  await first.shows('Once there')
  await first.kill('SIGKILL')
  expect((await lives.log()).map(({ type }) => type)).toEqual(['user_msg'])

  const second = lives.live('quick')
  await second.shows('the conversation so far')
  await second.shows('you › tell me a story')
  await second.shows('nothing that mattered had happened')
  second.type(keys.ctrlD)
  expect(await second.exited()).toMatchObject({ exitCode: 0 })
  expect((await lives.log()).map(({ type }) => type)).toEqual(['user_msg', 'assistant_msg', 'turn_ended'])

  const third = lives.live('slow')
  await third.shows('nothing that mattered had happened')
  third.type(`report${keys.enter}`)
  await third.shows('counting Monday')
  await third.kill('SIGKILL')
  expect((await lives.log()).at(-1)?.type).toBe('tool_started')

  const fourth = lives.live('quick')
  await fourth.shows('? sales_report: interrupted')
  await fourth.shows('I cannot say')
  fourth.type(`refund order 1234${keys.enter}`)
  await fourth.shows('approve?')
  await fourth.kill('SIGKILL')
  expect((await lives.log()).at(-1)?.type).toBe('suspension')

  const fifth = lives.live('quick')
  await fifth.shows('approve?')
  await fifth.kill('SIGKILL')
  expect(lives.ledger()).toEqual([])

  expect(await lives.elsewhere('approve', 'demo', '--who', 'kim')).toContain('Approved')

  const sixth = lives.live('quick')
  await sixth.shows('approved by kim')
  await sixth.shows('Done: 49.90 EUR went back for order 1234.')
  sixth.type(keys.ctrlD)
  expect(await sixth.exited()).toMatchObject({ exitCode: 0 })

  const events = await lives.log()
  const calls = events.filter((event) => event.type === 'tool_call')
  const ends = events.filter((event) => event.type === 'tool_result')
  expect(calls.map(({ content }) => content.name)).toEqual(['sales_report', 'refund'])
  expect(ends[0]?.content).toMatchObject({ callId: calls[0]!.content.callId, ok: false, outcome: 'unknown' })
  expect(ends[1]?.content).toMatchObject({ callId: calls[1]!.content.callId, ok: true })
  expect(events.filter((event) => event.type === 'tool_started').map(({ content }) => content.callId)).toEqual(
    calls.map(({ content }) => content.callId),
  )
  expect(lives.ledger()).toMatchObject([{ callId: calls[1]!.content.callId, orderId: '1234', cents: 4990 }])
  expect(events.filter((event) => event.type === 'turn_ended').map(({ content }) => content.status)).toEqual([
    'completed',
    'completed',
    'completed',
  ])
})
