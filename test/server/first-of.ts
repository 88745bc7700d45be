/** What a stream of events says until its first event. */
export async function firstOf(answer: Response): Promise<string> {
  const reader = answer.body!.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes('data:')) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value)
  }
  return text
}
