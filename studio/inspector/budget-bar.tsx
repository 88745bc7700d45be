import type { Budget, BudgetPart } from './token-budget.ts'

const looks: Readonly<Record<BudgetPart, readonly [string, string]>> = {
  system: ['system', 'bg-strong'],
  summary: ['summary', 'bg-faint'],
  tail: ['messages', 'bg-faint/45'],
  injections: ['hooks', 'border border-faint bg-panel'],
  evicted: ['left out', 'bar-waits text-faint'],
}

/** How a prompt was spent. What was left out is hatched, beside it. */
export function BudgetBar({ budget }: { budget: Budget }) {
  const { parts, total, isEstimate } = budget
  const all = parts.reduce((sum, { tokens }) => sum + tokens, 0)
  if (all === 0) return null
  return (
    <figure aria-label="Token budget">
      <div className="flex h-3 gap-px overflow-hidden rounded-xs" aria-hidden>
        {parts.map(({ part, tokens }) => (
          <span
            key={part}
            title={`${looks[part][0]}: ${tokens.toLocaleString()} tokens`}
            className={`min-w-0.5 ${looks[part][1]}`}
            style={{ width: `${(tokens / all) * 100}%` }}
          />
        ))}
      </div>
      <figcaption className="flex flex-wrap gap-x-3 pt-1 text-xs">
        {parts.map(({ part, tokens }) => (
          <span key={part} className="inline-flex items-center gap-1 whitespace-nowrap">
            <span aria-hidden className={`size-2 rounded-xs ${looks[part][1]}`} />
            {looks[part][0]} <span className="text-faint">{tokens.toLocaleString()}</span>
          </span>
        ))}
        {/* The facts below have the count of the provider. */}
        {isEstimate && <span className="ml-auto text-faint">about {total.toLocaleString()}</span>}
      </figcaption>
    </figure>
  )
}
