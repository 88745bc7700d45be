type Message = {
  readonly role: string
  readonly content: unknown
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly tool_call_id?: string
}

const bodyFields = ['model', 'messages', 'tools', 'tool_choice', 'stream', 'stream_options']
const messageFields: Record<string, readonly string[]> = {
  system: ['role', 'content'],
  developer: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls'],
  tool: ['role', 'tool_call_id', 'content'],
}

/** What OpenAI's Chat Completions API would refuse in a request, or what we have no business to send. */
export function openaiChatProblems(body: unknown): string[] {
  const { messages } = body as { messages: readonly Message[] }
  const problems = Object.keys(body as object).flatMap((key) => (bodyFields.includes(key) ? [] : [`the field ${key}`]))
  const used = new Set<string>()
  /** The calls that must be answered before anything else is said. */
  let open = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const place = `messages.${index}`
    const { role, content, tool_calls: calls = [], tool_call_id: answered = '' } = message
    const known = messageFields[role] ?? []
    problems.push(...Object.keys(message).flatMap((key) => (known.includes(key) ? [] : [`${place}: the field ${key}`])))
    if (isEmpty(content) && !(role === 'assistant' && content === null && calls.length > 0))
      problems.push(`${place}: it is empty`)
    if (role === 'tool') {
      if (!open.delete(answered)) problems.push(`${place}: a result of ${answered}, which is not open`)
      continue
    }
    if (open.size > 0) problems.push(`${place}: it comes before the results of ${[...open].join()}`)
    open = new Set(calls.map((call) => call.id))
    for (const call of calls) {
      if (used.has(call.id)) problems.push(`${place}: the id ${call.id} is used twice`)
      used.add(call.id)
      if (call.id.length < 1 || call.id.length > 40) problems.push(`${place}: the id ${call.id}`)
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(call.function.name)) problems.push(`${place}: the name ${call.function.name}`)
      const args: unknown = JSON.parse(call.function.arguments)
      if (typeof args !== 'object' || args === null || Array.isArray(args))
        problems.push(`${place}: the arguments of ${call.id}`)
    }
  }
  if (open.size > 0) problems.push(`it ends before the results of ${[...open].join()}`)
  return problems
}

function isEmpty(content: unknown): boolean {
  if (typeof content === 'string') return content.trim() === ''
  if (!Array.isArray(content)) return true
  return content.length === 0 || content.some((part) => part.type === 'text' && part.text.trim() === '')
}
