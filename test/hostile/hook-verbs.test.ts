import { expect, test } from 'vitest'
import { createHook, halt, preHook } from '../../src/define/create-hook.ts'
import { systemScope } from '../../src/define/scope.ts'
import { shape } from '../../src/define/shape.ts'
import { createTurn } from '../../src/define/turn.ts'
import { tryHostile } from './try-hostile.ts'

const turn = createTurn({ scope: systemScope(), context: [{ role: 'user', content: 'hello' }] })
const run = (): undefined => undefined

test('halt takes anything, or says what is wrong with it', { timeout: 60_000 }, async () => {
  const broken = await tryHostile([
    (hostile) => halt(hostile),
    (hostile) => halt('no', hostile),
    (hostile) => halt('no', { show: hostile }),
    (hostile) => halt('no', { result: hostile }),
  ])
  expect(broken).toEqual([])
})

test('shape takes anything, or says what is wrong with it', { timeout: 60_000 }, async () => {
  const text = (hostile: never) => [{ role: 'user', content: [{ type: 'text', text: hostile }] }]
  const broken = await tryHostile([
    (hostile) => shape(turn, hostile),
    (hostile) => shape(turn, { messages: hostile }),
    (hostile) => shape(turn, { messages: [hostile] }),
    (hostile) => shape(turn, { messages: [{ role: 'user', content: hostile }] }),
    (hostile) => shape(turn, { messages: [{ role: 'user', content: [hostile] }] }),
    (hostile) => shape(turn, { messages: text(hostile) as never }),
    (hostile) => shape(turn, { messages: [{ role: 'system', content: hostile }] }),
    (hostile) =>
      shape(turn, { messages: [{ role: 'assistant', content: [{ type: 'tool-call', input: hostile } as never] }] }),
    (hostile) => shape(turn, { tools: hostile }),
    (hostile) => shape(turn, { tools: [hostile] }),
    (hostile) => shape(turn, { settings: hostile }),
    (hostile) => shape(turn, { settings: { temperature: hostile } }),
    (hostile) => shape(turn, { settings: { maxOutputTokens: hostile } }),
    (hostile) => shape(turn, { settings: { toolChoice: hostile } }),
    (hostile) => shape(turn, { settings: { providerOptions: hostile } }),
  ])
  expect(broken).toEqual([])
})

test('so do the options of hooks', { timeout: 60_000 }, async () => {
  const broken = await tryHostile([
    (hostile) => preHook('a', run, { timeoutMs: hostile }),
    (hostile) => preHook('a', run, { durable: true, once: hostile }),
    (hostile) => createHook({ name: 'a', phase: 'post', run, timeoutMs: hostile }),
  ])
  expect(broken).toEqual([])
})
