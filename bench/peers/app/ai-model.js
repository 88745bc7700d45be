import { answer, callAfter } from './script.js'

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}

/** The scripted model as a model of the AI SDK: for Perdure, Mastra and the SDK itself. It answers at once and keeps nothing. */
export const aiModel = {
  specificationVersion: 'v4',
  provider: 'bench',
  modelId: 'instant',
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const call = next(prompt)
    const content = call
      ? [{ type: 'tool-call', toolCallId: call.id, toolName: call.name, input: JSON.stringify(call.args) }]
      : [{ type: 'text', text: answer }]
    return { content, finishReason: reason(call), usage, warnings: [] }
  },
  async doStream({ prompt }) {
    const call = next(prompt)
    const parts = call
      ? [{ type: 'tool-call', toolCallId: call.id, toolName: call.name, input: JSON.stringify(call.args) }]
      : [
          { type: 'text-start', id: '0' },
          { type: 'text-delta', id: '0', delta: answer },
          { type: 'text-end', id: '0' },
        ]
    const all = [
      { type: 'stream-start', warnings: [] },
      ...parts,
      { type: 'finish', finishReason: reason(call), usage },
    ]
    const stream = new ReadableStream({
      start(controller) {
        for (const part of all) controller.enqueue(part)
        controller.close()
      },
    })
    return { stream }
  },
}

/** The call to make, or null for the answer. */
function next(prompt) {
  const last = prompt.at(-1)
  if (last.role === 'tool') return null
  return callAfter(
    typeof last.content === 'string' ? last.content : last.content.map((part) => part.text ?? '').join(''),
  )
}

function reason(call) {
  const unified = call ? 'tool-calls' : 'stop'
  return { unified, raw: unified }
}
