import { type Printable, SafeText, safely } from './safe-text.ts'

export type Colours = Readonly<Record<keyof typeof codes, (text: Printable) => SafeText>>

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const

export function coloursOf(areWanted: boolean): Colours {
  const paint =
    ([on, off]: readonly [number, number]) =>
    (text: Printable) =>
      new SafeText(areWanted ? `\u001b[${on}m${safely(text)}\u001b[${off}m` : safely(text))
  return Object.fromEntries(Object.entries(codes).map(([name, pair]) => [name, paint(pair)])) as Colours
}

/** Only on a terminal, and not where somebody asked for none: https://no-color.org. */
export function wantsColours(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}
