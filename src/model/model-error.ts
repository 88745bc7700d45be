import { ModelError, type ModelErrorCode } from '../base/errors/model-errors.ts'
import type { ModelRef } from '../log/events.ts'
import type { Fault } from './fault.ts'

export type ModelFault = { readonly model: ModelRef; readonly fault: Fault }

/** The error of a model call. With fallback models all that was tried is told, and the last one decides the code. */
export function modelError(faults: readonly ModelFault[]): ModelError {
  const { model, fault } = faults.at(-1)!
  const told = faults.map(tell).join(' Then ')
  return new ModelError(fault.code, `${told} ${advice[fault.code]}`, {
    ...model,
    statusCode: fault.statusCode,
    retryable: faults.some((tried) => tried.fault.isRetryable),
  })
}

function tell({ model, fault }: ModelFault): string {
  const status = fault.statusCode === null ? '' : ` (status ${fault.statusCode})`
  const problem = fault.problem === '' ? '' : `: ${fault.problem.replace(/[.\s]+$/, '')}`
  return `${model.provider}/${model.modelId} ${happened[fault.code]}${status}${problem}.`
}

const happened: Record<ModelErrorCode, string> = {
  model_failed: 'failed',
  model_interrupted: 'stopped in the middle of its answer',
  model_overloaded: 'is overloaded or its rate limit is reached',
  model_rejected: 'refused the request',
  model_unauthorized: 'did not accept the credentials',
  model_unreachable: 'could not be reached',
}

const advice: Record<ModelErrorCode, string> = {
  model_failed: 'See what the provider says, or add a fallback model.',
  model_interrupted: 'What had come is kept. Send the message again.',
  model_overloaded: 'Try again later, raise the limit, or add a fallback model.',
  model_rejected: 'Check the settings, the tools and the length of the conversation against what this model takes.',
  model_unauthorized: "Check the provider's key and what it may use.",
  model_unreachable: "Check the network and the provider's address, or try again.",
}
