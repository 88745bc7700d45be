import type { Scenario } from './scenario.ts'

/** Those that only make sense beside others. */

/** Its process works on something for as long as the others take. */
export const patient: Scenario = {
  name: 'patient',
  messages: ['wait for the others'],
  transcripts: [
    ['user: wait for the others', 'assistant: ', 'patient = "patient done"', 'assistant: They are done.', 'completed'],
  ],
}

export const poison: Scenario = { name: 'poison', messages: ['end your process'], isPoison: true, transcripts: [] }
