import { expect, test } from 'vitest'
import { calibrate, uncalibrated } from './count-tokens.ts'

test.each([0.6, 0.8, 1.25, 2, 3.5])('an estimate that is off by %f is corrected within a few calls', (truth) => {
  let calibration = uncalibrated
  const errors: number[] = []
  for (let call = 1; call <= 10; call++) {
    const estimated = 1_000 * call
    errors.push(Math.abs(estimated * calibration.factor - estimated * truth) / (estimated * truth))
    calibration = calibrate(calibration, estimated, estimated * truth)
  }
  expect(errors[5]).toBeLessThan(0.05)
  expect(errors.at(-1)).toBeLessThan(0.005)
})

test('an estimate follows when the kind of text changes', () => {
  let calibration = uncalibrated
  for (const truth of [1.2, 1.2, 1.2, 0.8, 0.8, 0.8, 0.8, 0.8])
    calibration = calibrate(calibration, 5_000, 5_000 * truth)
  expect(calibration.factor).toBeCloseTo(0.8, 1)
})

test.each([
  [500, 1_000, 1.5],
  [499, 998, 1],
  [1_000, 400, 0.75],
  [1_000, 399, 1],
  [1_000, 4_000, 2.5],
  [1_000, 9_000, 2.5],
])('of an estimate of %i tokens that the provider counts as %i, half is learnt: %f', (estimated, reported, factor) => {
  expect(calibrate(uncalibrated, estimated, reported)).toEqual({ factor })
})

test.each([
  ['nothing is reported', 5_000, undefined],
  ['the prompt is too short to tell', 100, 190],
  ['the provider counted another prompt', 5_000, 10],
])('nothing is learnt when %s', (_, estimated, reported) => {
  expect(calibrate({ factor: 1.1 }, estimated, reported)).toEqual({ factor: 1.1 })
})

test('a count that is far higher is believed, up to a point', () => {
  let calibration = uncalibrated
  for (let call = 0; call < 20; call++) calibration = calibrate(calibration, 1_000, 1_000_000)
  expect(calibration.factor).toBeCloseTo(4, 2)
})
