import { WifiOff } from 'lucide-react'
import { useConnection } from 'perdure/react'
import { duration, useNow } from '../parts/time.tsx'

/** Shown while the page does not hear from its server. What is on the page stays, as it was when the connection was lost. */
export function ConnectionLine() {
  const { status, nextAttemptAt, retry } = useConnection()
  return (
    <div
      role="status"
      className={
        status === 'offline'
          ? 'flex shrink-0 items-center gap-2 border-b bg-waiting-soft px-3 py-1.5 text-text'
          : 'sr-only'
      }
    >
      {status === 'offline' && (
        <>
          <WifiOff className="size-4 shrink-0 text-waiting" aria-hidden />
          <span className="min-w-0">
            The server does not answer. What you see may be old. <NextAttempt at={nextAttemptAt} />
          </span>
          <button
            type="button"
            className="ml-auto shrink-0 rounded-(--radius) px-2 py-1 link max-md:min-h-11"
            onClick={retry}
          >
            Try now
          </button>
        </>
      )}
    </div>
  )
}

/** Counts in a part of its own, hidden from readers of the line: they hear that it is lost, and not every second of it. */
function NextAttempt({ at }: { at: number | null }) {
  const left = (at ?? 0) - useNow()
  return <span aria-hidden>{left > 0 ? `Next attempt in ${duration(left + 999)}.` : 'Trying now.'}</span>
}
