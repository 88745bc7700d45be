const oldest = [22, 13] as const

/** The error text on a Node that is too old, else null. Must not import anything. */
export function unsupportedNode(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return null
  return `perdure needs Node ${oldest.join('.')} or newer, and this is ${version}. Install a newer one from https://nodejs.org.`
}
