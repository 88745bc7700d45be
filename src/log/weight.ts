/** About how many bytes a value takes in memory, and as JSON: many small values weigh more than their text. */
export function weightOf(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length
  if (typeof value !== 'object' || value === null) return 8
  let weight = 32
  if (Array.isArray(value)) {
    for (const member of value) weight += 8 + weightOf(member)
    return weight
  }
  for (const key in value) weight += 16 + key.length + weightOf((value as Record<string, unknown>)[key])
  return weight
}
