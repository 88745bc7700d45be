/** A problem for every key that is not among the known ones; each lists what is available. */
export function unknownKeys(attributes: unknown, known: readonly string[]): string[] {
  if (typeof attributes !== 'object' || attributes === null) return ['it must be an object']
  return Object.keys(attributes)
    .filter((key) => !known.includes(key))
    .map((key) => `unknown key '${key}' (known: ${known.join(', ')})`)
}
