import type {
  LanguageModelV3FilePart,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { ModelPrompt } from '../define/language-model.ts'

/**
 * The same prompt as specification v3 has it: a file's data is bare there, and `custom` and `reasoning-file` parts do not exist. Leaves
 * what is in the form of v3 already.
 */
export function promptForV3(prompt: ModelPrompt): LanguageModelV3Prompt {
  return prompt.map(messageForV3)
}

type V3Content<Role> = Extract<LanguageModelV3Message, { role: Role }>['content'][number]

function messageForV3(message: LanguageModelV4Message): LanguageModelV3Message {
  switch (message.role) {
    case 'system':
      return message
    case 'user':
      return { ...message, content: message.content.flatMap(userPart) }
    case 'assistant':
      return { ...message, content: message.content.flatMap(assistantPart) }
    case 'tool':
      return { ...message, content: message.content.map(toolPart) }
  }
}

function userPart(part: Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]): V3Content<'user'>[] {
  return part.type === 'file' ? filePart(part) : [part]
}

function assistantPart(
  part: Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number],
): V3Content<'assistant'>[] {
  switch (part.type) {
    case 'custom':
    case 'reasoning-file':
      return []
    case 'file':
      return filePart(part)
    case 'tool-result':
      return [resultPart(part)]
    default:
      return [part]
  }
}

function toolPart(part: Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]): V3Content<'tool'> {
  return part.type === 'tool-result' ? resultPart(part) : part
}

/** Empty for a reference to a file at the provider, which v3 has no place for. */
function filePart(part: LanguageModelV4FilePart): LanguageModelV3FilePart[] {
  const data = bareData(part.data)
  const mediaType = part.mediaType.includes('/') ? part.mediaType : `${part.mediaType}/*`
  return data === null ? [] : [{ ...part, mediaType, data }]
}

function bareData(data: LanguageModelV4FilePart['data']): LanguageModelV3FilePart['data'] | null {
  switch (data.type) {
    case 'data':
      return data.data
    case 'url':
      return data.url
    case 'text':
      return new TextEncoder().encode(data.text)
    case 'reference':
      return null
    default:
      return data
  }
}

function resultPart(part: LanguageModelV4ToolResultPart): LanguageModelV3ToolResultPart {
  return { ...part, output: resultOutput(part.output) }
}

type V3ResultContent = Extract<LanguageModelV3ToolResultOutput, { type: 'content' }>['value'][number]
type V4ResultContent = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]

function resultOutput(output: LanguageModelV4ToolResultOutput): LanguageModelV3ToolResultOutput {
  return output.type === 'content' ? { ...output, value: output.value.map(contentForV3) } : output
}

function contentForV3(part: V4ResultContent): V3ResultContent {
  if (part.type !== 'file') return part
  const { data, mediaType, filename, providerOptions } = part
  const options = providerOptions ? { providerOptions } : {}
  const isImage = mediaType.startsWith('image')
  switch (data.type) {
    case 'url':
      return { type: isImage ? 'image-url' : 'file-url', url: data.url.href, ...options }
    case 'reference':
      return { type: isImage ? 'image-file-id' : 'file-id', fileId: data.reference, ...options }
    case 'text':
      return { type: 'text', text: data.text, ...options }
    case 'data': {
      const base64 = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64')
      if (isImage) return { type: 'image-data', data: base64, mediaType, ...options }
      return { type: 'file-data', data: base64, mediaType, ...(filename === undefined ? {} : { filename }), ...options }
    }
  }
}
