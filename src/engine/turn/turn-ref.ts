/** Names one model call of a turn; padded, so that the refs of a turn sort by step. */
export function turnRef(turnId: string, step: number): string {
  return `${turnId}/${String(Math.max(0, step)).padStart(4, '0')}`
}
