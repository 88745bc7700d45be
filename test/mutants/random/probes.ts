import { type Node, type Place, placesIn } from './syntax.ts'

/** What is run whole or not at all, and tells so under its number. */
export type Probe = { readonly number: number; readonly start: number; readonly end: number }

/** A file that tells which of its parts are run: `probe(n)` in front of each. */
export type ProbedFile = { readonly text: string; readonly probes: readonly Probe[] }

/** Probes are numbered from `first` on. */
export function probed(file: string, text: string, first = 0): ProbedFile {
  const probes: Probe[] = []
  const inserted: { readonly at: number; readonly text: string }[] = []
  for (const place of placesIn(file, text)) {
    const form = formOf(place)
    if (!form) continue
    const { start, end } = place.node
    const number = first + probes.length
    probes.push({ number, start, end })
    const [before, after] = form(`globalThis.perdureProbe?.(${number})`)
    inserted.push({ at: place.node.type === 'BlockStatement' ? start + 1 : start, text: before })
    if (after !== '') inserted.push({ at: end, text: after })
  }
  return { text: withInserted(text, inserted), probes }
}

/** The smallest part that has all of this. Undefined where nothing of it is run by itself. */
export function probeOf(probes: readonly Probe[], { start, end }: { start: number; end: number }): Probe | undefined {
  const around = probes.filter((probe) => probe.start <= start && probe.end >= end)
  return around.toSorted((left, right) => left.end - left.start - (right.end - right.start))[0]
}

type Form = (probe: string) => readonly [before: string, after: string]

const inList: Form = (probe) => [`${probe};`, '']
const inBlock: Form = (probe) => [`${probe};`, '']
const asBody: Form = (probe) => [`{${probe};`, '\n}']
const asExpression: Form = (probe) => [`(${probe},(`, '))']

function formOf({ node, around }: Place): Form | null {
  const parent = around.at(-1)
  if (!parent) return null
  if (isStatement(node)) {
    if (hasList(parent)) return inList
    if (parent.type === 'IfStatement' && node.type !== 'IfStatement' && node.type !== 'BlockStatement') return asBody
    return node.type === 'BlockStatement' && isFunction(parent) ? inBlock : null
  }
  if (parent.type === 'ArrowFunctionExpression' && parent.body === node && node.type !== 'BlockStatement')
    return asExpression
  if (parent.type === 'PropertyDefinition' && parent.value === node) return asExpression
  return parent.type === 'AssignmentPattern' && parent.right === node ? asExpression : null
}

/** What may have another statement in front of it. Function and class declarations run nothing where they stand, and what stands alone in a module runs in every test. */
function isStatement({ type }: Node): boolean {
  return type.endsWith('Statement') || type === 'VariableDeclaration'
}

function hasList({ type }: Node): boolean {
  return ['BlockStatement', 'SwitchCase'].includes(type)
}

function isFunction({ type }: Node): boolean {
  return ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].includes(type)
}

/** What is inserted at the same place keeps its order, and the end of an inner part comes before that of an outer one. */
function withInserted(text: string, inserted: readonly { readonly at: number; readonly text: string }[]): string {
  const starts = new Map<number, string>()
  const ends = new Map<number, string>()
  for (const { at, text: piece } of inserted) {
    const isEnd = piece.startsWith(')') || piece.startsWith('\n')
    if (isEnd) ends.set(at, piece + (ends.get(at) ?? ''))
    else starts.set(at, (starts.get(at) ?? '') + piece)
  }
  const offsets = [...new Set([...starts.keys(), ...ends.keys()])].sort((left, right) => left - right)
  let result = ''
  let from = 0
  for (const at of offsets) {
    result += text.slice(from, at) + (ends.get(at) ?? '') + (starts.get(at) ?? '')
    from = at
  }
  return result + text.slice(from)
}
