import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { interruptions } from './people.ts'
import type { Host, Scenario } from './scenario.ts'
import { stepFor } from './script.ts'

/** Says what the script says, and lets people act while it does. */
export function scenarioModel(scenario: Scenario, host: Host): LanguageModelV4 {
  const model = scriptedModel(({ prompt }) => {
    host.asked(scenario, prompt)
    return stepFor(prompt, host.name)
  })
  const act = interruptions(scenario, host)
  return {
    ...model,
    doStream: async (options) => {
      const { stream } = await model.doStream(options)
      return { stream: followed(stream, (delta) => act(delta, options.abortSignal)) }
    },
  }
}

/** The same stream; after each piece of text it waits for what `act` does about it. */
function followed(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  act: (delta: string) => Promise<void>,
): ReadableStream<LanguageModelV4StreamPart> {
  const reader = stream.getReader()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      controller.enqueue(value)
      if (value.type === 'text-delta') await act(value.delta)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
