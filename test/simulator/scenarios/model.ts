import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { type Step, scriptedModel } from '../../../src/testing/scripted-model.ts'
import { interruptions } from './people.ts'
import type { Host, Scenario } from './scenario.ts'
import { stepFor } from './script.ts'

/** Says what the script says, and lets people act while it does. */
export function scenarioModel(scenario: Scenario, host: Host): LanguageModelV4 {
  const brokenOff = new Set<string>()
  const model = scriptedModel(({ prompt }) => {
    host.asked(scenario, prompt)
    const step = stepFor(prompt, host.name)
    return typeof step === 'object' && step.cutAfter ? brokenOnce(step, JSON.stringify(prompt), brokenOff) : step
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

/** A stream that breaks off the first time this process asks for it, and says something else the next time. */
function brokenOnce(step: Exclude<Step, string>, asked: string, brokenOff: Set<string>): Step {
  if (!brokenOff.has(asked)) {
    brokenOff.add(asked)
    return step
  }
  const { cutAfter: _, ...whole } = step
  return { ...whole, text: ['As I', ' meant to say.'] }
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
