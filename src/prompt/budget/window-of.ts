import type { ModelRef } from '../../log/events.ts'

const unknownWindow = 128_000

/** Providers do not tell how much a model takes; what is widely known of families, and a cautious guess for the rest. */
export function windowOf({ modelId }: ModelRef): number {
  for (const [pattern, tokens] of windows) if (pattern.test(modelId)) return tokens
  return unknownWindow
}

const windows: readonly (readonly [RegExp, number])[] = [
  [/gpt-4\.1|gemini/i, 1_000_000],
  [/gpt-5|codex/i, 400_000],
  [/claude|\bo[134]\b|o[134]-/i, 200_000],
  [/gpt-4o|gpt-4-turbo/i, 128_000],
]
