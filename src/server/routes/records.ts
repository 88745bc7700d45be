import { TurnNotFoundError } from '../../errors/runtime-errors.ts'
import { json } from '../answer.ts'
import { existing } from '../existing.ts'
import type { Route } from '../route.ts'

export const recordRoutes: readonly Route[] = [
  {
    name: 'listModelCalls',
    method: 'GET',
    path: '/conversations/:id/model-calls',
    summary: 'The model calls that the audit kept, for operators and whoever may read prompts',
    readsPrompts: true,
    answer: { status: 200, description: 'Without the prompts: ask for one of them.' },
    async handle(call) {
      const { conversation } = await existing(call)
      const modelCalls = await call.verbs.inspect(conversation.id).modelCalls()
      return json({ modelCalls: modelCalls.map(({ renderedContext: _, ...rest }) => rest) })
    },
  },
  {
    name: 'getModelCall',
    method: 'GET',
    path: '/conversations/:id/model-calls/:turnRef',
    summary: 'Exactly what the model was given, in each attempt, for operators and whoever may read prompts',
    readsPrompts: true,
    answer: { status: 200, description: 'The attempts of this call.' },
    async handle(call) {
      const { conversation } = await existing(call)
      const turnRef = call.params['turnRef']!
      const attempts = (await call.verbs.inspect(conversation.id).modelCalls()).filter(
        (candidate) => candidate.turnRef === turnRef,
      )
      if (attempts.length === 0) throw new TurnNotFoundError(conversation.id, turnRef)
      return json({ attempts })
    },
  },
  {
    name: 'explainModelCall',
    method: 'GET',
    path: '/conversations/:id/model-calls/:turnRef/explain',
    summary: 'How each event of the log was in its prompt, and why, for operators and whoever may read prompts',
    readsPrompts: true,
    answer: { status: 200, description: 'An explanation for each event the call could have seen.' },
    async handle(call) {
      const { conversation } = await existing(call)
      const turnRef = call.params['turnRef']!
      const explanations = await call.verbs.inspect(conversation.id).explain(turnRef)
      if (!explanations) throw new TurnNotFoundError(conversation.id, turnRef)
      return json({ explanations })
    },
  },
  {
    name: 'readSnapshot',
    method: 'GET',
    path: '/conversations/:id/snapshot',
    summary: 'The state that was kept of it last',
    answer: { status: 200, description: '`snapshot` is null when there is none.' },
    async handle(call) {
      const { conversation } = await existing(call)
      return json({ snapshot: await call.verbs.inspect(conversation.id).snapshot() })
    },
  },
]
