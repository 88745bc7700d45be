import { Ban, Check, Circle, CircleDot, Hourglass, Moon, TriangleAlert } from 'lucide-react'
import type { ComponentType } from 'react'

const looks: Readonly<Record<string, readonly [ComponentType<{ className?: string }>, string, string]>> = {
  waiting: [Hourglass, 'waiting', 'text-waiting'],
  active: [CircleDot, 'running', 'text-running'],
  running: [CircleDot, 'running', 'text-running'],
  sleeping: [Moon, 'sleeping', 'text-session'],
  unanswered: [TriangleAlert, 'no answer', 'text-failed'],
  failed: [TriangleAlert, 'failed', 'text-failed'],
  done: [Check, 'done', 'text-done'],
  completed: [Check, 'done', 'text-faint'],
  ended: [Check, 'ended', 'text-faint'],
  cancelled: [Ban, 'cancelled', 'text-faint'],
  denied: [Ban, 'denied', 'text-faint'],
  expired: [Ban, 'expired', 'text-faint'],
  idle: [Circle, 'idle', 'text-faint'],
  dormant: [Circle, 'dormant', 'text-faint'],
}

/** A state as an icon and a word; colour only says it again. */
export function Status({ status }: { status: string }) {
  const [Icon, word, colour] = looks[status] ?? [Circle, status, 'text-faint']
  return (
    <span className={`inline-flex items-center gap-1 whitespace-nowrap ${colour}`}>
      <Icon className="size-3.5 shrink-0" aria-hidden />
      {word}
    </span>
  )
}
