import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModelV3, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { ModelRef } from '../../src/log/events.ts'
import { promptForV3 } from '../../src/model/call-model.ts'

/** The real encoders, by the API they encode for. */
export type Api = 'openai chat' | 'openai responses' | 'openai responses without store' | 'anthropic'

export const modelOf: { readonly [api in Api]: ModelRef } = {
  'openai chat': { provider: 'openai.chat', modelId: 'gpt-4o' },
  'openai responses': { provider: 'openai.responses', modelId: 'gpt-5' },
  'openai responses without store': { provider: 'openai.responses', modelId: 'gpt-5' },
  anthropic: { provider: 'anthropic.messages', modelId: 'claude-sonnet-4-5' },
}

const tools = ['look', 'refund'].map((name) => ({
  type: 'function' as const,
  name,
  inputSchema: { type: 'object' as const, properties: { q: { type: 'string' as const } } },
}))

/** The body of the request that a provider package would send for a prompt. */
export async function captureRequest(api: Api, prompt: LanguageModelV4Prompt): Promise<unknown> {
  let body: unknown
  const fetch: typeof globalThis.fetch = async (_, init) => {
    body = JSON.parse(String(init?.body))
    return new Response('{"error":{"message":"not sent"}}', { status: 418 })
  }
  const model = encoderOf(api, fetch)
  const providerOptions = api === 'openai responses without store' ? { openai: { store: false } } : {}
  try {
    await model.doStream({ prompt: promptForV3(prompt), tools, providerOptions })
  } catch (error) {
    if (body === undefined) throw error
  }
  return body
}

function encoderOf(api: Api, fetch: typeof globalThis.fetch): LanguageModelV3 {
  const { modelId } = modelOf[api]
  if (api === 'anthropic') return createAnthropic({ apiKey: 'none', fetch })(modelId)
  const openai = createOpenAI({ apiKey: 'none', fetch })
  return api === 'openai chat' ? openai.chat(modelId) : openai.responses(modelId)
}
