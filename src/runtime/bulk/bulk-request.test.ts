import { expect, test } from 'vitest'
import { readRequest } from './bulk-request.ts'

test.each([
  [{ action: 'pause' }, /'action'/],
  [{ action: 'retry', perSecond: 0 }, /'perSecond'/],
  [{ action: 'retry', perSecond: 1_001 }, /'perSecond' must be at most 1,000/],
  [{ action: 'retry', force: 'yes' }, /'force' must be true or false/],
  [{ action: 'cancel', force: true }, /'force' is for 'retry'/],
  [{ action: 'retry', filter: { ended: [] } }, /'ended' must name at least one status/],
  [{ action: 'retry', filter: { ended: ['open'] } }, /'ended'/],
  [{ action: 'cancel', filter: { ended: ['failed'] } }, /'ended' is for 'retry'/],
  [{ action: 'retry', filter: { text: '' } }, /'text' must have 1 to 200 characters/],
  [{ action: 'retry', filter: { olderThanMs: -1 } }, /'olderThanMs'/],
  [{ action: 'retry', filter: { agent: '' } }, /agent/],
  [{ action: 'retry', filter: { owner: '' } }, /owner/],
])('a request of a bulk job that cannot be is refused, and the option named: %j', (request, problem) => {
  expect(() => readRequest(request as never)).toThrow(problem)
})

test('a request has its defaults written in, and each status once', () => {
  expect(readRequest({ action: 'cancel' })).toEqual({
    ...{ action: 'cancel', tenant: 'default', filter: {}, force: false, perSecond: 50 },
  })
  const filter = { ended: ['failed', 'halted', 'failed'] } as const
  expect(readRequest({ action: 'retry', filter, force: true, perSecond: 1_000 })).toMatchObject({
    ...{ filter: { ended: ['failed', 'halted'] }, force: true, perSecond: 1_000 },
  })
})
