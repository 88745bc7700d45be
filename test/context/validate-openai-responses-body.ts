type Item = { readonly type?: string; readonly role?: string; readonly [key: string]: unknown }

const bodyFields = ['model', 'input', 'tools', 'tool_choice', 'stream', 'store', 'include']
const itemFields: Record<string, readonly string[]> = {
  system: ['role', 'content'],
  developer: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'id'],
  item_reference: ['type', 'id'],
  function_call: ['type', 'call_id', 'name', 'arguments'],
  function_call_output: ['type', 'call_id', 'output'],
  reasoning: ['type', 'id', 'encrypted_content', 'summary'],
  web_search_call: ['type', 'id', 'status', 'action'],
}

/** What OpenAI's Responses API would refuse in a request, or what we have no business to send. */
export function openaiResponsesProblems(body: unknown): string[] {
  const { input } = body as { input: readonly Item[] }
  const problems = Object.keys(body as object).flatMap((key) => (bodyFields.includes(key) ? [] : [`the field ${key}`]))
  if (!input.some((item) => item.role === 'user')) problems.push('there is no user message')
  const ids = new Set<unknown>()
  const open = new Set<unknown>()
  for (const [index, item] of input.entries()) {
    const place = `input.${index}`
    const kind = item.type ?? item.role ?? ''
    const known = itemFields[kind] ?? []
    problems.push(
      ...Object.keys(item).flatMap((key) => (known.includes(key) ? [] : [`${place}: the field ${key} of ${kind}`])),
    )
    if (item['id'] !== undefined && ids.has(item['id']))
      problems.push(`${place}: the item ${item['id']} is there twice`)
    ids.add(item['id'] ?? item)
    problems.push(...textProblems(item, place), ...reasoningProblems(item, input[index + 1], place))
    if (kind === 'function_call') problems.push(...callProblems(item, open, ids, place))
    if (kind === 'function_call_output' && !open.delete(item['call_id'])) problems.push(`${place}: a result of nothing`)
    // A model may say more after it has called.
    if (kind === 'user' && open.size > 0) problems.push(`${place}: it comes before the results of ${[...open].join()}`)
  }
  if (open.size > 0) problems.push(`it ends before the results of ${[...open].join()}`)
  return problems
}

function callProblems(item: Item, open: Set<unknown>, ids: Set<unknown>, place: string): string[] {
  const problems: string[] = []
  const id = String(item['call_id'])
  if (ids.has(`call ${id}`)) problems.push(`${place}: the id ${id} is used twice`)
  ids.add(`call ${id}`)
  open.add(item['call_id'])
  if (id.length < 1 || id.length > 64) problems.push(`${place}: the id ${id}`)
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(item['name']))) problems.push(`${place}: the name ${item['name']}`)
  JSON.parse(String(item['arguments']))
  return problems
}

function textProblems({ role, content, output, type }: Item, place: string): string[] {
  if (type === 'function_call_output') return String(output).trim() === '' ? [`${place}: an empty result`] : []
  if (role === undefined) return []
  const parts = typeof content === 'string' ? [{ text: content }] : (content as readonly { text?: string }[])
  if (parts.length === 0) return [`${place}: it is empty`]
  return parts.some(({ text }) => text !== undefined && text.trim() === '') ? [`${place}: an empty text`] : []
}

/** Reasoning stands before what came of it. */
function reasoningProblems(item: Item, next: Item | undefined, place: string): string[] {
  const isReasoning =
    item.type === 'reasoning' || (item.type === 'item_reference' && String(item['id']).startsWith('rs_'))
  if (!isReasoning) return []
  const isOutput = next !== undefined && next.role !== 'user' && next.type !== 'function_call_output'
  return isOutput ? [] : [`${place}: reasoning without what came of it`]
}
