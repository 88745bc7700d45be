import { afterAll, beforeAll, expect, test } from 'vitest'
import { perdure, perdureJson } from './perdure.ts'
import { openWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await openWorld()
  await world.say('open', 'A refund, please')
})

afterAll(() => world.close())

test('operators see and steer the fleet of a server with --url', async () => {
  // A lease that is held when a pause comes stays.
  await expect.poll(() => world.runtime.work({ state: 'held' })).toEqual([])
  const onIt = (...args: string[]) => [...args, ...world.ways.server]
  const { value: listed } = await perdureJson(onIt('nodes'))
  expect(listed.nodes).toMatchObject([{ works: true, drain: null }])
  const { holder } = listed.nodes[0]
  const by = ['--who', 'ops-ann', '--reason', 'outage']
  expect((await perdureJson(onIt('pause', '--conversation', 'open', ...by))).value).toMatchObject({
    target: { conversation: 'open', tenant: 'default' },
    who: 'ops-ann',
    reason: 'outage',
  })
  expect((await perdure(onIt('pause'))).stdout).toContain('ops-ann')
  const { pending } = await world.runtime.conversation('open').view()
  await world.runtime.conversation('open').approve(pending[0]!.callId)
  const { value: due } = await perdureJson(onIt('work'))
  expect(due.work).toMatchObject([{ id: 'open', state: 'due', pause: { who: 'ops-ann' } }])
  expect(await perdureJson(onIt('resume', '--conversation', 'open'))).toMatchObject({ value: { resumed: true } })
  expect(await perdure(onIt('resume', '--conversation', 'open'))).toMatchObject({ code: 1 })
  expect(await perdureJson(onIt('drain', holder, '--within', '5', ...by))).toMatchObject({ value: { draining: true } })
  expect((await perdure(onIt('nodes'))).stdout).toContain('draining')
  expect(await perdureJson(onIt('undrain', holder))).toMatchObject({ value: { undrained: true } })
  expect(await perdure(onIt('drain', 'no-such-node'))).toMatchObject({ code: 1 })
  const acts = await world.runtime.steeringActs()
  expect(acts.map(({ act, who }) => [act, who])).toEqual([
    ['undrain', 'operator'],
    ['drain', 'ops-ann'],
    ['resume', 'operator'],
    ['pause', 'ops-ann'],
  ])
})
