import { expect, test } from 'vitest'
import type { Logger } from '../base/logger.ts'
import { silentLogger } from '../base/logger.ts'
import { BackgroundTasks, type KeepAlive } from './background-tasks.ts'

const ref = { tenant: 'acme', id: 'chat' }

function tasks() {
  const lines: unknown[] = []
  let holders = 0
  const keepAlive = {
    hold: () => {
      holders += 1
      return () => {
        holders -= 1
      }
    },
  } as unknown as KeepAlive
  const logger: Logger = { ...silentLogger, warn: (message, details) => lines.push([message, details]) }
  return { side: new BackgroundTasks({ logger, keepAlive }), lines, holders: () => holders }
}

test('a task runs beside, and holds the process until it has ended', async () => {
  const { side, holders } = tasks()
  const { promise, resolve } = Promise.withResolvers<void>()
  side.start('it failed', ref, () => promise)
  expect([side.running.length, holders()]).toEqual([1, 1])
  resolve()
  await Promise.all(side.running)
  expect([side.running.length, holders()]).toEqual([0, 0])
})

test('one that fails is told of, and lets the process end', async () => {
  const { side, lines, holders } = tasks()
  const error = new Error('no')
  side.start('it failed', ref, () => Promise.reject(error))
  await Promise.all(side.running)
  expect(lines).toEqual([['it failed', { ...ref, error }]])
  expect([side.running.length, holders()]).toEqual([0, 0])
})

test('closing tells all to stop, and waits until they have', async () => {
  const { side } = tasks()
  const steps: string[] = []
  side.start('it failed', ref, async (signal) => {
    steps.push(`begins ${signal.aborted}`)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    await new Promise((resolve) => setImmediate(resolve))
    steps.push('ends')
  })
  await side.close()
  steps.push('closed')
  expect(steps).toEqual(['begins false', 'ends', 'closed'])
})
