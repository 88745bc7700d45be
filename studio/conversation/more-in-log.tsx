import { usePlace } from '../inspector/place.ts'

/** Says what is missing here, and shows the event that has all of it. */
export function MoreInLog({ words, seq }: { words: string; seq: number }) {
  const { go } = usePlace()
  return (
    <p className="text-faint">
      {words}{' '}
      <button type="button" className="link" onClick={() => go({ tab: 'log', event: seq })}>
        See event {seq.toLocaleString()}
      </button>
    </p>
  )
}
