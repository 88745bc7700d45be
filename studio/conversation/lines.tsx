import { memo } from 'react'
import { AssistantMessage } from './assistant-message.tsx'
import { DraftLine } from './draft-line.tsx'
import { EndLine, NoteLine, RegeneratedLine, UnknownLine } from './marks.tsx'
import type { Row } from './rows.ts'
import { UserMessage } from './user-message.tsx'

/** One line of a transcript. */
export const Line = memo(
  function Line({ row }: { row: Row }) {
    switch (row.type) {
      case 'message':
        return row.message.role === 'user' ? (
          <UserMessage message={row.message} isSteering={row.isSteering} />
        ) : (
          <AssistantMessage message={row.message} isContinued={row.isContinued} />
        )
      case 'draft':
        return <DraftLine draft={row.draft} isContinued={row.isContinued} />
      case 'end':
        return <EndLine turn={row.turn} isNewest={row.isNewest} />
      case 'note':
        return <NoteLine note={row.note} />
      case 'regenerated':
        return <RegeneratedLine seq={row.seq} feedback={row.feedback} />
      case 'unknown':
        return <UnknownLine eventType={row.eventType} seq={row.seq} />
    }
  },
  ({ row: was }, { row: is }) => was.key === is.key && isSame(was, is),
)

/** Rows are made anew with each view; what they are about is not. */
function isSame(was: Row, is: Row): boolean {
  const names = Object.keys(is) as (keyof Row)[]
  return names.every((name) => was[name] === is[name])
}

/** All lines, one below the other. */
export function Lines({ rows }: { rows: readonly Row[] }) {
  return rows.map((row) => <Line key={row.key} row={row} />)
}
