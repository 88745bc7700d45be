import type { LanguageModelV4Prompt } from '@ai-sdk/provider'

type Message = LanguageModelV4Prompt[number]

/** What providers refuse: calls without results, results without calls, ids used twice, empty messages, an order they do not take. */
export function checkPrompt(prompt: LanguageModelV4Prompt): string[] {
  const problems: string[] = []
  const spoken = prompt.filter((message) => message.role !== 'system')
  if (prompt.slice(1).some((message) => message.role === 'system')) problems.push('a system message is not the first')
  if (spoken[0]?.role !== 'user') problems.push(`it starts with '${spoken[0]?.role}'`)
  if (spoken.at(-1)?.role === 'assistant') problems.push('it ends with what the model said')
  const used = new Set<string>()
  spoken.forEach((message, index) => {
    if (isEmpty(message)) problems.push(`message ${index} is empty`)
    const next = spoken[index + 1]
    if (message.role === 'assistant' && next?.role === 'assistant') problems.push('the model speaks twice in a row')
    const calls = callIds(message)
    for (const id of calls) {
      if (used.has(id)) problems.push(`the call id '${id}' is used twice`)
      used.add(id)
    }
    const results = next?.role === 'tool' ? resultIds(next) : []
    if (message.role !== 'tool' && calls.sort().join() !== results.sort().join()) {
      problems.push(`the calls '${calls.join()}' are followed by the results '${results.join()}'`)
    }
    if (message.role === 'tool' && next?.role === 'tool') problems.push('results follow results')
  })
  return problems
}

function isEmpty({ content }: Message): boolean {
  if (typeof content === 'string') return content.trim() === ''
  return content.length === 0 || content.some((part) => part.type === 'text' && part.text.trim() === '')
}

function callIds(message: Message): string[] {
  if (message.role !== 'assistant') return []
  return message.content.flatMap((part) =>
    part.type === 'tool-call' && !part.providerExecuted ? [part.toolCallId] : [],
  )
}

function resultIds(message: Extract<Message, { role: 'tool' }>): string[] {
  return message.content.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : []))
}
