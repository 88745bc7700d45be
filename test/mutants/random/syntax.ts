import { type Node, parseSync, visitorKeys } from 'oxc-parser'

export type { Node }

/** A node and those around it, the nearest last. */
export type Place = { readonly node: Node; readonly around: readonly Node[] }

/** All that can run: types are left out. */
export function placesIn(file: string, text: string): Place[] {
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]!.message}`)
  const places: Place[] = []
  visit(program, [])
  return places

  function visit(node: Node, around: readonly Node[]): void {
    if (isOnlyType(node)) return
    places.push({ node, around })
    for (const child of childrenOf(node)) visit(child, [...around, node])
  }
}

const runsThoughTyped = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSInstantiationExpression',
])

function isOnlyType({ type }: Node): boolean {
  if (type === 'ImportDeclaration' || type === 'ExportAllDeclaration') return true
  return type.startsWith('TS') && !runsThoughTyped.has(type)
}

function childrenOf(node: Node): Node[] {
  const members = node as unknown as Readonly<Record<string, Node | readonly (Node | null)[] | null>>
  return (visitorKeys[node.type] ?? []).flatMap((key) => members[key] ?? []).filter((child) => child !== null)
}
