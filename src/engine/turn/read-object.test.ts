import { expect, test } from 'vitest'
import { regenerated, replied, said, stateOf } from '../../../test/log/story.ts'
import type { NewEvent } from '../../log/events.ts'
import { objectVerdict, readObject, regenerations } from './finish-message.ts'

const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
const said1 = (...texts: string[]) => texts.map((text) => ({ type: 'text' as const, text }))

test('the object is the JSON of all texts of the message together, checked against the schema', async () => {
  const parts = [...said1('{"n"'), { type: 'reasoning' as const, text: 'hm' }, ...said1(':1}')]
  for (const own of [schema, null]) {
    expect(await readObject(schema, own, parts)).toEqual({ ok: true, value: { n: 1 } })
    expect(await readObject(schema, own, said1('{"n":"1"}'))).toMatchObject({ ok: false })
    expect(await readObject(schema, own, said1('{"n":1'))).toEqual({ ok: false, issues: 'it is not JSON' })
  }
})

test('a schema that is not the one of the agent is from outside, and has a budget', async () => {
  const costly = { type: 'string', pattern: '^(a)\\1a$' }
  expect(await readObject(costly, structuredClone(costly), said1('"aaa"'))).toEqual({ ok: true, value: 'aaa' })
  expect(await readObject(costly, null, said1('"aaa"'))).toMatchObject({ ok: false })
  expect(await readObject(costly, schema, said1('"aaa"'))).toMatchObject({ ok: false })
})

function turnWith(...events: NewEvent[]) {
  return stateOf([said('t1'), ...events]).turns[0]!
}
const refused = { ok: false as const, issues: 'n: it is missing' }

test('what does not fit is asked for once more, and then the turn fails', () => {
  const first = turnWith(replied('t1', 'm1', 1))
  const verdict = objectVerdict(first, refused, 'stop')
  expect(verdict).toEqual({
    type: 'regenerate',
    n: 1,
    feedback: 'Your answer does not fit the schema: n: it is missing. Answer with the object only.',
  })
  const feedback = (verdict as { feedback: string }).feedback
  const again: NewEvent = { type: 'regeneration', content: { messageId: 'm1', n: 1, feedback } }
  expect(objectVerdict(turnWith(replied('t1', 'm1', 1), again), refused, 'stop')).toEqual({
    type: 'fail',
    reason: 'invalid_object',
  })
})

test('regenerations that hooks asked for count, and do not use up the one of the schema', () => {
  const turn = turnWith(replied('t1', 'm1', 1), regenerated('m1'), replied('t1', 'm2', 3))
  expect(regenerations(turn)).toBe(1)
  expect(objectVerdict(turn, refused, 'stop')).toMatchObject({ type: 'regenerate', n: 2 })
})

test('what cannot be judged fails at once', () => {
  const turn = turnWith(replied('t1', 'm1', 1))
  expect(objectVerdict(turn, { ...refused, isTooComplex: true }, 'stop')).toEqual({
    type: 'fail',
    reason: 'schema_too_complex',
  })
})

test('an object that was cut off at its length says so, to the model and then to people', () => {
  const first = turnWith()
  const verdict = objectVerdict(first, refused, 'length')
  expect(verdict).toMatchObject({
    type: 'regenerate',
    feedback: expect.stringContaining('cut off at its length limit'),
  })
  const feedback = (verdict as { feedback: string }).feedback
  const again: NewEvent = { type: 'regeneration', content: { messageId: 'm1', n: 1, feedback } }
  expect(objectVerdict(turnWith(replied('t1', 'm1', 1), again), refused, 'length')).toEqual({
    type: 'fail',
    reason: 'object_cut_off',
  })
})
