import { expect, test } from 'vitest'
import { type Asker, askForm } from './ask-decision.ts'

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
