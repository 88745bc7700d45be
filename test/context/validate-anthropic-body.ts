type Block = { readonly type: string; readonly [key: string]: unknown }
type Message = { readonly role: string; readonly content: readonly Block[] }

const fields: Record<string, readonly string[]> = {
  body: ['model', 'max_tokens', 'system', 'messages', 'tools', 'tool_choice', 'stream'],
  message: ['role', 'content'],
  text: ['type', 'text', 'cache_control', 'citations'],
  image: ['type', 'source', 'cache_control'],
  tool_use: ['type', 'id', 'name', 'input', 'cache_control'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
  server_tool_use: ['type', 'id', 'name', 'input', 'cache_control'],
  web_search_tool_result: ['type', 'tool_use_id', 'content', 'cache_control'],
}

/** What Anthropic's Messages API would refuse in a request, or what we have no business to send. */
export function anthropicProblems(body: unknown): string[] {
  const { system = [], messages } = body as { system?: readonly Block[]; messages: readonly Message[] }
  const problems = unknownFields(body as object, 'body')
  if (messages[0]?.role !== 'user') problems.push('it does not begin with a user')
  if (messages.at(-1)?.role !== 'user') problems.push('it does not end with a user')
  for (const block of system) problems.push(...blockProblems(block, 'system'))
  const used = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const place = `messages.${index}`
    problems.push(...unknownFields(message, 'message'))
    if (message.role === messages[index - 1]?.role) problems.push(`${place}: two messages of ${message.role}`)
    if (message.content.length === 0) problems.push(`${place}: it is empty`)
    for (const block of message.content) problems.push(...blockProblems(block, place))
    problems.push(...callProblems(message, messages[index + 1], used, place))
    if (message.role === 'user') problems.push(...resultProblems(message, messages[index - 1], place))
  }
  const marks = [...system, ...messages.flatMap((message) => message.content)].filter((block) => block['cache_control'])
  if (marks.length > 4) problems.push(`${marks.length} breakpoints`)
  return problems
}

function blockProblems(block: Block, place: string): string[] {
  const problems = unknownFields(block, block.type).map((problem) => `${place}: ${problem}`)
  if (block.type === 'text' && String(block['text']).trim() === '') problems.push(`${place}: an empty text`)
  if (block.type === 'thinking' && !block['signature']) problems.push(`${place}: thinking without a signature`)
  if (block.type === 'tool_result' && String(block['content'] ?? '').trim() === '')
    problems.push(`${place}: an empty result`)
  return problems
}

function callProblems(
  { role, content }: Message,
  next: Message | undefined,
  used: Set<string>,
  place: string,
): string[] {
  if (role !== 'assistant') return []
  const problems: string[] = []
  const firstCall = content.findIndex((block) => block.type === 'tool_use')
  for (const [index, block] of content.entries()) {
    if (firstCall >= 0 && index > firstCall && block.type !== 'tool_use')
      problems.push(`${place}: something after a call`)
    if (block.type !== 'tool_use' && block.type !== 'server_tool_use') continue
    const id = String(block['id'])
    if (used.has(id)) problems.push(`${place}: the id ${id} is used twice`)
    used.add(id)
    if (!/^[a-zA-Z0-9_-]+$/.test(id)) problems.push(`${place}: the id ${id}`)
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(block['name']))) problems.push(`${place}: the name ${block['name']}`)
    if (typeof block['input'] !== 'object' || block['input'] === null) problems.push(`${place}: the input of ${id}`)
    const [within, answers] =
      block.type === 'tool_use' ? [next?.content ?? [], 'tool_result'] : [content, 'web_search_tool_result']
    const results = within.filter((other) => other.type === answers && other['tool_use_id'] === id)
    if (results.length !== 1) problems.push(`${place}: ${results.length} results of ${id}`)
  }
  const last = content.at(-1)?.type
  if (last === 'thinking' || last === 'redacted_thinking') problems.push(`${place}: it ends with thinking`)
  return problems
}

/** Results come first in the message right after their calls. */
function resultProblems({ content }: Message, before: Message | undefined, place: string): string[] {
  const asked = new Set(before?.content.flatMap((block) => (block.type === 'tool_use' ? [block['id']] : [])))
  const lastResult = content.findLastIndex((block) => block.type === 'tool_result')
  return content.flatMap((block, index) => {
    if (block.type !== 'tool_result') return index < lastResult ? [`${place}: something before a result`] : []
    return asked.has(block['tool_use_id'])
      ? []
      : [`${place}: a result of ${block['tool_use_id']}, which was not called`]
  })
}

function unknownFields(value: object, type: string): string[] {
  const known = fields[type]
  if (!known) return [`the type ${type} is not known`]
  return Object.keys(value).flatMap((key) => (known.includes(key) ? [] : [`the field ${key} of ${type} is not known`]))
}
