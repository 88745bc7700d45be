import { expect, test } from 'vitest'
import type { Asker } from './ask-decision.ts'
import { askForm } from './ask-form.ts'

/** Types each text after what stands in the line already, as a person does. */
function typing(...texts: string[]) {
  const said: string[] = []
  const asker: Asker = {
    ask: async (_label, initial = '') => initial + texts.shift(),
    say: (text) => void said.push(text),
    choose: async () => null,
  }
  return { asker, said }
}

test('a wrong choice is made anew', async () => {
  const { asker, said } = typing('7', '1')
  const schema = { type: 'object', properties: { what: { enum: ['it broke', 'it came late'] } }, required: ['what'] }
  expect(await askForm(schema, asker)).toEqual({ value: { what: 'it broke' } })
  expect(said).toEqual(['That does not fit: choose one of 1 it broke, 2 it came late.'])
})

test('what else does not fit stays in the line to be mended', async () => {
  const { asker } = typing('short', ' no more')
  const schema = { type: 'object', properties: { why: { type: 'string', minLength: 8 } }, required: ['why'] }
  expect(await askForm(schema, asker)).toEqual({ value: { why: 'short no more' } })
})

test('fields that fit alone but not together are asked for again', async () => {
  const { asker, said } = typing('1', '2', '3', '3')
  const properties = { a: { type: 'integer' }, b: { type: 'integer' } }
  const schema = { type: 'object', properties, not: { properties: { a: { const: 1 } }, required: ['a'] } }
  expect(await askForm(schema, asker)).toEqual({ value: { a: 3, b: 3 } })
  expect(said).toEqual(['Each field fits, but not all of them together. Fill them in again.'])
})
