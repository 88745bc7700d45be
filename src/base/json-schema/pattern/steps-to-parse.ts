const stepsPerProperty = 4_000

/**
 * What JavaScript takes to read a regular expression with the flag `u`. It looks up each Unicode property anew, and compares each named group with those
 * before it.
 */
export function stepsToParse(source: string): number {
  const groups = occurrences(source, '(?<')
  return source.length + propertiesIn(source) * stepsPerProperty + (groups * groups) / 128
}

/** At most so many. */
export function propertiesIn(source: string): number {
  return occurrences(source, '\\p') + occurrences(source, '\\P')
}

function occurrences(source: string, part: string): number {
  let count = 0
  for (let index = source.indexOf(part); index !== -1; index = source.indexOf(part, index + 1)) count += 1
  return count
}
