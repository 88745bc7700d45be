import { CornerDownRight } from 'lucide-react'
import type { Client, RemoteRecord } from 'perdure/client'
import { useClient } from 'perdure/react'
import { useCallback } from 'react'
import { Link, useSearchParams } from 'wouter'
import { addresses } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { Notice } from '../parts/notice.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { Compare } from './compare.tsx'
import type { PanelProps } from './inspector.tsx'
import { type ForkNode, forkTree } from './lineage.ts'
import { usePlace } from './place.ts'
import { useLoaded } from './use-loaded.ts'

/** The conversations that this one was made from and those made from them, as a tree. */
export function ForksTab({ id }: PanelProps) {
  const client = useClient()
  const [search] = useSearchParams()
  const { go } = usePlace()
  const loaded = useLoaded(id, () => readTree(client, id))
  const other = search.get('with')
  const close = useCallback(() => go({ with: null }, { replace: true }), [go])
  if (loaded.error) {
    return (
      <Notice title="The forks cannot be read.">
        <p>{errorWords(loaded.error)}</p>
        <Button onClick={loaded.reload}>Try again</Button>
      </Notice>
    )
  }
  if (!loaded.value) return <p className="p-3 text-faint">Reading the forks…</p>
  const { tree, isPartial } = loaded.value
  if (tree.forks.length === 0) {
    return (
      <Notice title="It was never forked.">
        <p>Select an event and choose “Fork from here” to try something else from that point on.</p>
      </Notice>
    )
  }
  return (
    <div className="p-2">
      <ul aria-label="Forks">
        <Node node={tree} here={id} depth={0} onCompare={(compared) => go({ with: compared })} />
      </ul>
      {isPartial && <p className="px-2 pt-2 text-faint">There are more forks than are shown here.</p>}
      {other !== null && <Compare id={id} other={other} onClose={close} />}
    </div>
  )
}

type NodeProps = {
  readonly node: ForkNode
  readonly here: string
  readonly depth: number
  onCompare(id: string): void
}

function Node({ node, here, depth, onCompare }: NodeProps) {
  const { id, at, title, lastSeq, forks } = node
  const isHere = id === here
  return (
    <li>
      <div
        className={`flex min-h-8 items-center gap-2 rounded-(--radius) px-2 max-md:min-h-11 ${isHere ? 'bg-selected' : 'hover:bg-hover'}`}
        style={{ marginLeft: Math.min(depth, 8) * 16 }}
      >
        {depth > 0 && <CornerDownRight aria-hidden className="size-3.5 shrink-0 text-faint" />}
        {isHere ? (
          <span aria-current="page" className="min-w-0 truncate font-medium">
            {shortId(id)}
          </span>
        ) : (
          <Link href={addresses.conversation(id, { tab: 'forks' })} className="min-w-0 truncate link">
            {shortId(id)}
          </Link>
        )}
        <span className="truncate text-faint text-xs" title={oneLine(title ?? '', 200)}>
          {at === null ? 'the first' : `from ${at.toLocaleString()}`}
          {lastSeq !== null && `, ${lastSeq.toLocaleString()} events`}
        </span>
        <span className="grow" />
        {!isHere && (
          <Button kind="quiet" className="shrink-0 whitespace-nowrap" onClick={() => onCompare(id)}>
            Compare
          </Button>
        )}
      </div>
      {forks.length > 0 && (
        <ul>
          {forks.map((fork) => (
            <Node key={fork.id} node={fork} here={here} depth={depth + 1} onCompare={onCompare} />
          ))}
        </ul>
      )}
    </li>
  )
}

/** Ids that the server made begin alike: their ends tell them apart. */
function shortId(id: string): string {
  return oneLine(id.length > 28 ? `${id.slice(0, 8)}…${id.slice(-8)}` : id, 80)
}

const mostRecords = 100

/** Reads the ancestors, then forks of all that are known, until there are enough. */
async function readTree(client: Client, id: string): Promise<{ readonly tree: ForkNode; readonly isPartial: boolean }> {
  const lineage = await client.conversation(id).lineage()
  const records = new Map<string, RemoteRecord>()
  const queue = [id, ...lineage.map((ancestor) => ancestor.id)]
  const asked = new Set<string>()
  for (let next = queue.shift(); next !== undefined && records.size < mostRecords; next = queue.shift()) {
    if (asked.has(next)) continue
    asked.add(next)
    const [record, forks] = await Promise.all([
      readRecord(client, next),
      client
        .conversation(next)
        .forks()
        .catch(() => []),
    ])
    if (record) records.set(record.id, record)
    for (const fork of forks) {
      records.set(fork.id, fork)
      queue.push(fork.id)
    }
  }
  return { tree: forkTree({ id, lineage }, [...records.values()]), isPartial: queue.length > 0 }
}

/** An ancestor may be deleted, or belong to someone else: the tree then has its id alone. */
async function readRecord(client: Client, id: string): Promise<RemoteRecord | null> {
  return client
    .conversation(id)
    .record()
    .catch(() => null)
}
