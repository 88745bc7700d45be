/** The order of the UTF-8 bytes, as databases compare; JavaScript's own order differs from it past U+FFFF. */
export function byteOrder(left: string, right: string): number {
  if (left === right) return 0
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
