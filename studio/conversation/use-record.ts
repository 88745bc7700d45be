import type { RemoteRecord } from 'perdure/client'
import { useClient } from 'perdure/react'
import { useEffect, useState } from 'react'

/** The list entry of a conversation: its agent, owner and problems. Read again when `version` changes; the last one stays meanwhile. */
export function useRecord(id: string, version: string): RemoteRecord | null {
  const client = useClient()
  const [found, setFound] = useState<{ readonly id: string; readonly record: RemoteRecord } | null>(null)
  useEffect(() => {
    // Named here because the effect must run again with it.
    void version
    let isCurrent = true
    client
      .conversation(id)
      .record()
      .then(
        (record) => isCurrent && setFound({ id, record }),
        // The page shows the state of its connection; the record is read again with the next change.
        () => {},
      )
    return () => {
      isCurrent = false
    }
  }, [client, id, version])
  return found?.id === id ? found.record : null
}
