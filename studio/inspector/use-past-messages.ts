import type { View, ViewMessage } from 'perdure/client'
import { useClient } from 'perdure/react'
import { useMemo, useState } from 'react'

type Page = { readonly messages: readonly ViewMessage[]; readonly before: number | null }

/** The messages of a past moment, with older ones as far as they were read. `loadOlder` is null when there are none. */
export type PastMessages = {
  readonly messages: readonly ViewMessage[]
  readonly loadOlder: (() => Promise<void>) | null
}

/** A view has the newest messages of its moment; pages of history come before it. What was read for one moment is there for those beside it. */
export function usePastMessages(id: string, view: View | null): PastMessages {
  const client = useClient()
  const [pages, setPages] = useState<ReadonlyMap<number, Page>>(new Map())
  return useMemo(() => {
    if (!view) return { messages: [], loadOlder: null }
    const { older, next } = readBefore(pages, view.before)
    const messages = [...older, ...view.messages]
    if (next === null) return { messages, loadOlder: null }
    const loadOlder = async (): Promise<void> => {
      const page = await client.conversation(id).history({ before: next })
      setPages((known) => new Map(known).set(next, page))
    }
    return { messages, loadOlder }
  }, [client, id, view, pages])
}

/** The pages that connect to a place, oldest first, and where the next one begins. */
function readBefore(pages: ReadonlyMap<number, Page>, before: number | null) {
  const found: Page[] = []
  let next = before
  for (let page = pages.get(next ?? -1); page; page = pages.get(next ?? -1)) {
    found.unshift(page)
    next = page.before
  }
  return { older: found.flatMap(({ messages }) => messages), next }
}
