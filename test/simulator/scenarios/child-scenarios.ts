import type { Scenario } from './scenario.ts'

const paid = 'delegate = "Paid by a worker."'

/** Those in which an agent has others work for it. What a child says last names its process, so that two ends of one child would differ. */
export const childScenarios: readonly Scenario[] = [
  {
    name: 'delegated',
    messages: ['have it done'],
    hasHelper: true,
    transcripts: [['user: have it done', 'assistant: ', paid, 'assistant: It is done.', 'completed']],
  },
  {
    name: 'two-helpers',
    messages: ['have both done', 'say hello'],
    hasHelper: true,
    transcripts: [
      [
        ...['user: have both done', 'assistant: ', paid, 'look = "look done"', 'delegate = "Seen by a worker."'],
        ...['assistant: Both are done.', 'completed', 'user: say hello', 'assistant: Hello there.', 'completed'],
      ],
    ],
  },
  {
    name: 'helper-approved',
    messages: ['have it refunded'],
    hasHelper: true,
    transcripts: [
      [
        ...['user: have it refunded', 'assistant: ', 'delegate = "Refunded by a worker."'],
        ...['assistant: It is refunded.', 'completed'],
      ],
    ],
  },
  {
    name: 'cancelled-while-a-helper-works',
    messages: ['let it be done slowly', 'say it again'],
    hasHelper: true,
    cancels: 'let it be done slowly',
    transcripts: [
      "delegate failed: the agent 'cancelled-while-a-helper-works-helper' was cancelled",
      // The helper did not end in time.
      'delegate failed: tool call cancelled',
    ].map((end) => [
      ...['user: let it be done slowly', 'assistant: ', end, 'cancelled'],
      ...['user: say it again', 'assistant: Hello again.', 'completed'],
    ]),
  },
]
