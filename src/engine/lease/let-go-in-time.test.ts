import { expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { BackgroundTasks, KeepAlive } from '../background-tasks.ts'
import { releaseAllWithin } from './shutdown.ts'

function closing() {
  const told: string[] = []
  const lost: string[] = []
  const logger = {
    ...silentLogger,
    warn: (message: string) => void told.push(`warn: ${message}`),
    error: (message: string) => void told.push(`error: ${message}`),
  }
  let isEnded = false
  class Watched extends KeepAlive {
    override end(): void {
      isEnded = true
      super.end()
    }
  }
  const keepAlive = new Watched()
  const clock = fakeClock()
  const backgroundTasks = new BackgroundTasks({ logger, keepAlive })
  const owner = (name: string, close: () => Promise<void>) => {
    return { loseLease: () => void lost.push(name), close }
  }
  return {
    told,
    lost,
    clock,
    owner,
    backgroundTasks,
    parts: { backgroundTasks, keepAlive, clock, logger },
    isEnded: () => isEnded,
  }
}

const done = Promise.resolve()

test('what is held is closed and waited for, with the tasks beside it, and nothing is told', async () => {
  const { told, lost, owner, backgroundTasks, parts, isEnded } = closing()
  const closed: string[] = []
  const work = Promise.withResolvers<void>()
  const held = [
    { owner: owner('one', async () => void closed.push('one')), done: work.promise.then(() => closed.push('is done')) },
    { owner: null, done },
  ]
  backgroundTasks.start('failed', { tenant: 't', id: 'c' }, async (signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    closed.push('beside')
    work.resolve()
  })
  await releaseAllWithin(held, parts)
  expect(closed).toEqual(['one', 'beside', 'is done'])
  expect([told, lost, isEnded()]).toEqual([[], [], false])
})

test('one that cannot be closed is told of, and the others are closed all the same', async () => {
  const { told, lost, owner, parts } = closing()
  const closed: string[] = []
  const held = [
    { owner: owner('one', () => Promise.reject(new Error('no'))), done },
    { owner: owner('two', async () => void closed.push('two')), done },
  ]
  await releaseAllWithin(held, parts)
  expect([closed, told, lost]).toEqual([['two'], ['error: closing a conversation failed'], []])
})

test('what is not let go within two seconds is abandoned, and keeps the process no longer', async () => {
  const { told, lost, clock, owner, parts, isEnded } = closing()
  let isOver = false
  const held = [
    { owner: owner('one', () => new Promise(() => {})), done },
    { owner: owner('two', async () => {}), done: new Promise(() => {}) },
    { owner: null, done },
  ]
  const letting = releaseAllWithin(held, parts).then(() => (isOver = true))
  await clock.advance(1_999)
  expect([isOver, lost]).toEqual([false, []])
  await clock.advance(1)
  await letting
  expect(lost).toEqual(['one', 'two'])
  expect(told).toEqual([
    'warn: closing: some conversations were not released in time; other nodes take them when their leases lapse',
  ])
  expect(isEnded()).toBe(true)
})
