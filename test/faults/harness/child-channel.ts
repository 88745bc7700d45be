import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** The descriptor a child tells its parent things on. */
export const channelFd = 3

/** What the parent handed over when it started this process. */
export function childInput<Input>(): Input {
  return JSON.parse(process.argv[2] ?? 'null') as Input
}

/** Tells the parent. Must be synchronous: what was said before a kill is heard after it. */
export function say<Message extends { readonly type: string }>(message: Message): void {
  writeSync(channelFd, `${JSON.stringify(message)}\n`)
}

/** Calls back for every line the parent sends. */
export function onParentLine(listener: (line: string) => void): void {
  createInterface({ input: process.stdin }).on('line', listener)
}

/** Ends the process when the parent is gone, so that a program that is broken off leaves nothing running. */
export function dieWithParent(): void {
  process.stdin.on('end', () => process.exit(0))
  process.stdin.resume()
}
