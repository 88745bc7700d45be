/** How far estimates are from what the provider reports, learnt from the calls of one conversation. */
export type Calibration = { readonly factor: number }

export const uncalibrated: Calibration = { factor: 1 }

const weightOfNews = 0.5
/** What stands around a short prompt weighs more than the prompt. */
const leastTokens = 500
/** Fewer than this cannot be an error of the estimate: whoever counted did not count this prompt. More can, and must not be overlooked. */
const leastRatio = 0.4
const [leastFactor, mostFactor] = [0.5, 4]

/** `reported` is what the provider counted for a prompt that was estimated, uncorrected, at `estimated`. */
export function calibrate({ factor }: Calibration, estimated: number, reported: number | undefined): Calibration {
  if (reported === undefined || estimated < leastTokens || reported / estimated < leastRatio) return { factor }
  const seen = Math.min(mostFactor, Math.max(leastFactor, reported / estimated))
  return { factor: factor * (1 - weightOfNews) + seen * weightOfNews }
}
