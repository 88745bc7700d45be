import { afterAll, beforeAll, expect, test } from 'vitest'
import { perdure, perdureJson } from './perdure.ts'
import { openWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await openWorld()
  await world.say('open', 'A refund, please')
})

afterAll(() => world.close())

test('bulk counts, starts, lists and stops jobs', async () => {
  const onIt = (...args: string[]) => ['bulk', ...args, '--store', world.file]
  const cancel = ['cancel', '--agent', 'support', '--status', 'waiting']
  expect((await perdureJson(onIt(...cancel, '--dry-run'))).value).toEqual({ matches: 1, isPartial: false })
  const { value: job } = await perdureJson(onIt(...cancel, '--text', 'no such text', '--who', 'ops-ann'))
  expect(job).toMatchObject({ action: 'cancel', who: 'ops-ann', filter: { agent: 'support', status: 'waiting' } })
  const { value: listed } = await perdureJson(onIt())
  expect(listed.jobs).toMatchObject([{ id: job.id, who: 'ops-ann' }])
  expect((await perdure(onIt())).stdout).toMatch(/ID +ACTION +TENANT +STATE/)
  await world.runtime.bulk.stop(job.id)
  expect(await perdure(onIt('--stop', 'missing'))).toMatchObject({ code: 1 })
  expect(await perdure(onIt('explode'))).toMatchObject({ code: 2 })
})
