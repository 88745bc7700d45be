import { isCancel, log, select, text } from '@clack/prompts'
import type { Asker } from '../chat/ask-decision.ts'
import { Interrupted } from '../command.ts'
import { safely } from '../terminal/text.ts'

/** Puts questions to whoever sits at the terminal, one after the other. Ctrl-C and Escape end the command. */
export const clackAsker: Asker = {
  async ask(label, initial = '') {
    return answered(await text({ message: message(label), initialValue: initial, defaultValue: '' }))
  },
  async choose(label, choices) {
    const options = choices.map((value) => ({ value: value as string, label: safely(value) }))
    const chosen = answered(await select({ message: message(label), options }))
    return choices.find((choice) => choice === chosen) ?? null
  },
  say: (said) => log.message(safely(said)),
}

function message(label: string): string {
  return safely(label.replace(/\s*[›:]$/, ''))
}

function answered<T>(given: T): Exclude<T, symbol> {
  if (isCancel(given)) throw new Interrupted()
  return given as Exclude<T, symbol>
}
