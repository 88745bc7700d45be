import type { RemoteRecord } from 'perdure/client'
import { useClient } from 'perdure/react'
import { useCallback, useEffect, useRef, useState } from 'react'

export type UsedRecord = { readonly record: RemoteRecord | null; readonly again: () => Promise<void> }

/** The list entry of a conversation: its agent, owner, problems and pause. Read again when `version` changes, and each `everyMs` while the tab is visible; the last one stays meanwhile. */
export function useRecord(id: string, version: string, everyMs: number | null = null): UsedRecord {
  const client = useClient()
  const [found, setFound] = useState<{ readonly id: string; readonly record: RemoteRecord } | null>(null)
  /** Counts reads: an older one that ends later is not shown. */
  const newest = useRef(0)
  const again = useCallback(async () => {
    newest.current += 1
    const own = newest.current
    // The page shows the state of its connection; the record is read again with the next change.
    const record = await client
      .conversation(id)
      .record()
      .catch(() => null)
    if (record && own === newest.current) setFound({ id, record })
  }, [client, id])
  useEffect(() => {
    // Named here because the effect must run again with it.
    void version
    void again()
    return () => {
      newest.current += 1
    }
  }, [again, version])
  useEffect(() => {
    if (everyMs === null) return
    const timer = setInterval(() => document.visibilityState !== 'hidden' && void again(), everyMs)
    return () => clearInterval(timer)
  }, [again, everyMs])
  return { record: found?.id === id ? found.record : null, again }
}
