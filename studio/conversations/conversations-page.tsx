import { useConversations } from 'perdure/react'
import { Button } from '../parts/button.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { errorWords } from '../parts/error-words.ts'
import { Notice } from '../parts/notice.tsx'
import { FilterBar } from './filter-bar.tsx'
import { asked, isNarrowed, useListFilter } from './list-filter.ts'
import { RowList } from './row-list.tsx'

const first = `import { createClient } from 'perdure/client'

const client = createClient({ url: location.origin })
const chat = client.conversation('t-1', { agent: 'support' })
await chat.send('Hello')`

/** Every conversation, newest first. */
export function ConversationsPage() {
  const [filter, change] = useListFilter()
  const list = useConversations(asked(filter))
  const { items, status, error, hasMore, total } = list
  return (
    <div className="flex h-full min-h-0 flex-col">
      <h1 className="sr-only">Conversations</h1>
      <FilterBar
        filter={filter}
        onChange={change}
        items={items}
        count={total ?? items.length}
        isMore={total === null && hasMore}
      />
      {items.length > 0 ? (
        <RowList list={list} scope={JSON.stringify(filter)} />
      ) : status === 'loading' ? (
        <Skeleton />
      ) : status === 'refused' || status === 'failed' ? (
        <Notice
          title={status === 'refused' ? 'The server wants you to sign in again.' : 'The conversations cannot be shown.'}
        >
          <p>{errorWords(error)}</p>
          <Button onClick={() => void list.reload()}>Try again</Button>
        </Notice>
      ) : isNarrowed(filter) ? (
        <Notice title="No conversation matches.">
          <Button onClick={() => change({ text: '', status: '', agent: '', owner: '' })}>Show all</Button>
        </Notice>
      ) : (
        <Notice title="There are no conversations yet.">
          <p>A conversation begins with its first message:</p>
          <div className="w-full text-left">
            <CodeBlock text={first} language="ts" />
          </div>
        </Notice>
      )}
    </div>
  )
}

function Skeleton() {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col">
      {[62, 48, 71, 55, 66, 44, 58].map((width) => (
        <div key={width} className="flex h-8 items-center px-4 max-md:h-14">
          <div className="h-3 rounded-xs bg-hover" style={{ width: `${width}%` }} />
        </div>
      ))}
    </div>
  )
}
