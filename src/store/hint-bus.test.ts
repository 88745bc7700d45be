import { expect, test } from 'vitest'
import { silentLogger } from '../base/logger.ts'
import { HintBus } from './expiry-loop.ts'
import type { WakeHint } from './store.ts'

const hint = (id: string): WakeHint => ({ tenant: 'default', id, seq: 1 })

/** A bus, and what it does about other processes: each time it began to watch them, and whether it still does. */
function watchedBus() {
  const watches: { isOn: boolean; emit(hint: WakeHint): void; onMissed(): void }[] = []
  const bus = new HintBus((emit, onMissed) => {
    const watch = { isOn: true, emit, onMissed }
    watches.push(watch)
    return () => {
      watch.isOn = false
    }
  }, silentLogger)
  return { bus, watches, watching: () => watches.map(({ isOn }) => isOn) }
}

test('other processes are watched from the first listener to the last, and again when one comes back', () => {
  const { bus, watching } = watchedBus()
  expect(watching()).toEqual([])
  const leave = [bus.listen(() => {}), bus.listen(() => {})]
  expect(watching()).toEqual([true])
  leave[0]!()
  expect(watching()).toEqual([true])
  leave[1]!()
  expect(watching()).toEqual([false])
  bus.listen(() => {})
  expect(watching()).toEqual([false, true])
  bus.close()
  expect(watching()).toEqual([false, false])
})

test('a listener that left twice does not end the watch for others', () => {
  const { bus, watching } = watchedBus()
  const leave = bus.listen(() => {})
  leave()
  bus.listen(() => {})
  leave()
  expect(watching()).toEqual([false, true])
})

test('each listener hears what others and this process write, until it leaves', () => {
  const { bus, watches } = watchedBus()
  const heard: string[] = []
  const leave = bus.listen(({ id }) => heard.push(`first ${id}`))
  bus.listen(({ id }) => heard.push(`second ${id}`))
  bus.emit(hint('a'))
  leave()
  watches[0]!.emit(hint('b'))
  expect(heard).toEqual(['first a', 'second a', 'second b'])
})

test('those who ask to are told that hints of others may have been lost, until they leave', () => {
  const { bus, watches } = watchedBus()
  const told: string[] = []
  const tell = (name: string) => () => void told.push(name)
  const leave = bus.listen(() => {}, tell('first'))
  bus.listen(() => {}, tell('second'))
  bus.listen(() => {})
  watches[0]!.onMissed()
  leave()
  watches[0]!.onMissed()
  expect(told).toEqual(['first', 'second', 'second'])
})

test('a listener that throws is reported, and the others hear of it all the same', () => {
  const errors: unknown[] = []
  const bus = new HintBus(() => () => {}, { ...silentLogger, error: (_, details) => errors.push(details) })
  const heard: string[] = []
  bus.listen(() => {
    throw new Error('deaf')
  })
  bus.listen(({ id }) => heard.push(id))
  bus.emit(hint('a'))
  expect(heard).toEqual(['a'])
  expect(errors).toMatchObject([{ error: { message: 'deaf' } }])
})
