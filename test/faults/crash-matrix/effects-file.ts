import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Effect } from '../../simulator/scenarios/scenario.ts'

/** What tools have done, kept where no store and no crash can undo it. */
export class EffectsFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  create(): void {
    appendFileSync(this.#path, '')
  }

  /** On disk when it returns: the process may be killed right after it. */
  append(effect: Effect): void {
    const file = openSync(this.#path, 'a')
    writeSync(file, `${JSON.stringify(effect)}\n`)
    fsyncSync(file)
    closeSync(file)
  }

  read(): Effect[] {
    const lines = readFileSync(this.#path, 'utf8').split('\n')
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Effect)
  }
}
