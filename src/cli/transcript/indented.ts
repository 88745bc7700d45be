import { type Printable, SafeText, safely } from '../terminal/safe-text.ts'

/** Each line, further to the right. */
export function indented(text: Printable, by = 2): SafeText[] {
  return safely(text)
    .split('\n')
    .map((line) => new SafeText(`${' '.repeat(by)}${line}`))
}
