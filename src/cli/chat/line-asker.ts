import type { Asker } from './decision.ts'
import { line, styled } from './line.ts'
import type { Prompter } from './prompter.ts'
import type { Paper } from './transcript.ts'

/** Puts questions to the person in the line at the bottom of the screen, until the signal takes them back. */
export function lineAsker(prompter: Prompter, paper: Pick<Paper, 'print'>, signal: AbortSignal): Asker {
  const ask: Asker['ask'] = (label, initial = '') =>
    prompter.ask({ label: line(styled('yellow', `${label} `)), initial, signal })
  const say: Asker['say'] = (text) => paper.print(line(styled('dim', `    ${text}`)))
  return {
    ask,
    say,
    choose: async (label, choices) => {
      const shown = choices.map((choice) => `(${choice[0]})${choice.slice(1)}`).join(' · ')
      for (;;) {
        const typed = (await ask(`${label} ${shown} ›`))?.trim().toLowerCase()
        if (typed === undefined) return null
        const found = choices.find((choice) => choice === typed || choice[0] === typed)
        if (found) return found
        if (typed !== '') say(`Type one of the letters in brackets, not '${typed}'.`)
      }
    },
  }
}
