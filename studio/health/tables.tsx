import type { Stats } from 'perdure/client'
import type { ReactNode } from 'react'
import { oneLine } from '../parts/shown-text.ts'
import { Until } from '../parts/time.tsx'
import { count } from './figures.ts'

/** Tokens by model, errors by code, and the nodes with their leases. */
export function Tables({ stats }: { stats: Stats }) {
  const { models, errors, nodes } = stats
  return (
    <div className="grid lg:grid-cols-3 lg:divide-x">
      <Table title="Tokens by model" columns={['Model', 'Calls', 'In', 'Out']} empty="No model call was audited.">
        {models.map(({ model, calls, inputTokens, outputTokens }) => [
          oneLine(model, 120),
          count(calls),
          count(inputTokens),
          count(outputTokens),
        ])}
      </Table>
      <Table title="Errors by code" columns={['Code', 'Count']} empty="No errors.">
        {errors.map(({ code, count: times }) => [oneLine(code, 60), count(times)])}
      </Table>
      <Table title="Nodes" columns={['Node', 'Leases', 'First lapses']} empty="No node holds a lease now.">
        {nodes.map(({ holder, leases, nextLapseAt }) => [
          oneLine(holder, 120),
          count(leases),
          <Until key="until" at={nextLapseAt} />,
        ])}
      </Table>
    </div>
  )
}

type Cell = string | ReactNode

function Table({
  title,
  columns,
  empty,
  children,
}: {
  title: string
  columns: readonly string[]
  empty: string
  children: readonly (readonly [string, ...Cell[]])[]
}) {
  return (
    <section className="min-w-0 p-4 max-lg:border-b">
      <h2 className="mb-1 font-medium">{title}</h2>
      {children.length === 0 ? (
        <p className="text-faint">{empty}</p>
      ) : (
        <table className="w-full table-fixed">
          <thead>
            <tr className="text-left text-xs text-faint">
              {columns.map((column, index) => (
                <th key={column} scope="col" className={`font-normal ${index === 0 ? 'w-1/2' : 'text-right'}`}>
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {children.map(([name, ...cells]) => (
              <tr key={name} className="border-t">
                <th scope="row" className="truncate py-1 text-left font-normal" title={name}>
                  {name}
                </th>
                {cells.map((cell, index) => (
                  <td key={columns[index + 1]} className="truncate py-1 text-right text-soft">
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
