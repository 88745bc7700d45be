import { expect, test } from 'vitest'
import { z } from 'zod'
import type { JsonObject } from '../base/json.ts'
import type { SuspensionKind } from '../log/events.ts'
import { answerSchema } from '../log/next-step.ts'
import { defineTool } from './define-tool.ts'
import type { Schema } from './schema.ts'
import type { Tool } from './tool.ts'
import { checkAnswer, checkEditedArgs } from './validate.ts'

const asked = { name: 'ask', description: 'Ask', input: z.object({ n: z.coerce.number() }) }
const human = (output: Schema) => defineTool({ ...asked, executor: 'human', output })
const client = (output: Schema) => defineTool({ ...asked, executor: 'client', output })

function question(kind: SuspensionKind, tool: Tool | null, schema?: JsonObject) {
  return { kind, tool, schema: answerSchema(schema ? { schema } : {}, kind) }
}

test.each([[false], [0], [''], [null], [[]], [{}]])('%j is an answer', async (value) => {
  expect(await checkAnswer(question('elicitation', human(z.any())), value)).toEqual(value)
  expect(await checkAnswer(question('elicitation', null), value)).toEqual(value)
})

test('nothing is no answer', async () => {
  await expect(checkAnswer(question('elicitation', human(z.any())), undefined)).rejects.toThrow(/a value is required/)
})

test('an answer is recorded as its schema makes it', async () => {
  const output = z.object({ name: z.string().trim(), at: z.iso.datetime().transform((text) => new Date(text)) })
  const given = { name: ' Ada ', at: '2030-01-01T00:00:00Z', extra: 1 }
  expect(await checkAnswer(question('elicitation', human(output)), given)).toEqual({
    name: 'Ada',
    at: '2030-01-01T00:00:00.000Z',
  })
})

test('an answer that does not fit is refused, and says where', async () => {
  const answer = checkAnswer(question('elicitation', human(z.object({ name: z.string() }))), { name: 7 })
  await expect(answer).rejects.toMatchObject({ code: 'invalid_answer', issues: expect.stringMatching(/^name: /) })
})

test('an answer that cannot be recorded is refused', async () => {
  await expect(checkAnswer(question('elicitation', human(z.any())), new Map())).rejects.toMatchObject({
    code: 'invalid_answer',
  })
})

test('when the tool is gone, the schema in the log decides', async () => {
  const gone = question('elicitation', null, { type: 'string' })
  expect(await checkAnswer(gone, 'yes')).toBe('yes')
  await expect(checkAnswer(gone, 7)).rejects.toMatchObject({ code: 'invalid_answer' })
})

test('a client answers with a result that fits, or with an error', async () => {
  const open = question('client_exec', client(z.object({ lat: z.number() })))
  expect(await checkAnswer(open, { ok: true, result: { lat: 1 } })).toEqual({ ok: true, result: { lat: 1 } })
  expect(await checkAnswer(open, { ok: false, error: 'denied' })).toEqual({ ok: false, error: 'denied' })
  for (const wrong of [{ lat: 1 }, { ok: true, result: { lat: 'x' } }, { ok: true }, { ok: false }, null]) {
    await expect(checkAnswer(open, wrong)).rejects.toMatchObject({ code: 'invalid_answer' })
  }
})

test('a client whose tool is gone is held to the schema in the log', async () => {
  const open = question('client_exec', null, { type: 'number' })
  expect(await checkAnswer(open, { ok: true, result: 0 })).toEqual({ ok: true, result: 0 })
  await expect(checkAnswer(open, { ok: true, result: 'x' })).rejects.toMatchObject({ code: 'invalid_answer' })
})

test('an approval is a boolean', async () => {
  expect(await checkAnswer(question('approval', null), true)).toBe(true)
  await expect(checkAnswer(question('approval', null), 'yes')).rejects.toMatchObject({ code: 'invalid_answer' })
})

test('a recovery is rerun, report or a result', async () => {
  const open = question('recovery', null)
  expect(await checkAnswer(open, 'rerun')).toBe('rerun')
  expect(await checkAnswer(open, { result: 5 })).toEqual({ result: 5 })
  await expect(checkAnswer(open, 'again')).rejects.toMatchObject({ code: 'invalid_answer' })
})

test('edited arguments are checked and recorded as they were given', async () => {
  expect(await checkEditedArgs(human(z.any()), { n: '5' })).toEqual({ n: '5' })
  await expect(checkEditedArgs(human(z.any()), { n: 'many' })).rejects.toThrow(
    /^The edited arguments do not match what was asked for: n: /,
  )
  await expect(checkEditedArgs(human(z.any()), undefined)).rejects.toMatchObject({ code: 'invalid_answer' })
})

test('edited arguments that would not fit into an event beside the old ones are refused', async () => {
  await expect(checkEditedArgs(null, { note: 'x'.repeat(500_000) })).rejects.toThrow(/at most/)
})

test('edited arguments of a tool that is gone are recorded', async () => {
  expect(await checkEditedArgs(null, { n: 1 })).toEqual({ n: 1 })
})
