/** How far estimates are from what the provider reports, learnt from the calls of one conversation. */
export type Calibration = { readonly factor: number }

export const uncalibrated: Calibration = { factor: 1 }

const weightOfNews = 0.5
/** A provider that counts something else entirely must not make us blind. */
const [least, most] = [0.25, 4]

/** `reported` is what the provider counted for a prompt that was estimated, uncorrected, at `estimated`. */
export function calibrate({ factor }: Calibration, estimated: number, reported: number | undefined): Calibration {
  if (reported === undefined || reported <= 0 || estimated <= 0) return { factor }
  const seen = Math.min(most, Math.max(least, reported / estimated))
  return { factor: factor * (1 - weightOfNews) + seen * weightOfNews }
}
