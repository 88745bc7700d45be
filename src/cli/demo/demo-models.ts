import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { MissingDependencyError } from '../../base/errors/store-errors.ts'
import type { LanguageModel } from '../../define/language-model.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import type { Step } from '../../testing/scripted-model-step.ts'
import { scriptedResearcher } from './scripted-researcher.ts'
import { scriptedSupport } from './scripted-support.ts'

export type DemoModels = {
  readonly support: LanguageModel
  readonly researcher: LanguageModel
  readonly isScripted: boolean
  /** For people. */
  readonly label: string
}

export type ModelWish = { readonly env: NodeJS.ProcessEnv; readonly isOffline: boolean; readonly pace: number }

/** A real model where the environment has one, else the script. */
export async function demoModels({ env, isOffline, pace }: ModelWish): Promise<DemoModels> {
  const real = isOffline ? null : await realModel(env)
  if (real) return { support: real.model, researcher: real.model, isScripted: false, label: real.label }
  return {
    support: paced('scripted-support', scriptedSupport, pace),
    researcher: paced('scripted-researcher', scriptedResearcher, pace),
    isScripted: true,
    label: 'a script, offline',
  }
}

type Chosen = { readonly model: LanguageModel; readonly label: string }

async function realModel(env: NodeJS.ProcessEnv): Promise<Chosen | null> {
  const { PERDURE_BASE_URL: baseURL, PERDURE_MODEL: wished, ANTHROPIC_API_KEY, OPENAI_API_KEY } = env
  if (baseURL) {
    if (!/^https?:\/\/./.test(baseURL) || !URL.canParse(baseURL)) {
      throw new CommandLineError(`PERDURE_BASE_URL is '${baseURL}', which is not like http://127.0.0.1:11434/v1`)
    }
    const { createOpenAICompatible } = await needed(
      '@ai-sdk/openai-compatible',
      'PERDURE_BASE_URL',
      () => import('@ai-sdk/openai-compatible'),
    )
    const apiKey = env['PERDURE_API_KEY'] ?? OPENAI_API_KEY
    const name = wished ?? 'default'
    const provider = createOpenAICompatible({ name: 'compatible', baseURL, ...(apiKey ? { apiKey } : {}) })
    return { model: provider(name), label: `${name} at ${baseURL} (PERDURE_BASE_URL)` }
  }
  if (ANTHROPIC_API_KEY) {
    const { createAnthropic } = await needed(
      '@ai-sdk/anthropic',
      'ANTHROPIC_API_KEY',
      () => import('@ai-sdk/anthropic'),
    )
    const name = wished ?? 'claude-sonnet-4-5'
    return { model: createAnthropic({ apiKey: ANTHROPIC_API_KEY })(name), label: `${name} (ANTHROPIC_API_KEY)` }
  }
  if (OPENAI_API_KEY) {
    const { createOpenAI } = await needed('@ai-sdk/openai', 'OPENAI_API_KEY', () => import('@ai-sdk/openai'))
    const name = wished ?? 'gpt-5-mini'
    return { model: createOpenAI({ apiKey: OPENAI_API_KEY })(name), label: `${name} (OPENAI_API_KEY)` }
  }
  return null
}

async function needed<T>(packageName: string, variable: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    throw new MissingDependencyError(packageName, `The demo with ${variable}, unless with --offline,`, cause)
  }
}

/** Word by word, at the speed of somebody who reads along. */
function paced(
  modelId: string,
  script: (prompt: LanguageModelV4Prompt) => Exclude<Step, string>,
  pace: number,
): LanguageModel {
  return scriptedModel(
    ({ prompt }) => {
      const { text, ...step } = script(prompt)
      const words = typeof text === 'string' ? { text: text.split(/(?<=\s)/) } : {}
      return { ...step, ...words, delayMs: 45 * pace }
    },
    { provider: 'demo', modelId },
  )
}
