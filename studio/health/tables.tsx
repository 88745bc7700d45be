import type { Stats } from 'perdure/client'
import { oneLine } from '../parts/shown-text.ts'
import { count } from './figures.ts'

/** Tokens by model, and errors by code. */
export function Tables({ stats }: { stats: Stats }) {
  const { models, errors } = stats
  return (
    <div className="grid lg:grid-cols-2 lg:divide-x">
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
    </div>
  )
}

function Table({
  title,
  columns,
  empty,
  children,
}: {
  title: string
  columns: readonly string[]
  empty: string
  children: readonly (readonly [string, ...string[]])[]
}) {
  return (
    <section className="min-w-0 p-4 max-lg:not-last:border-b">
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
