import { maxValueSteps } from './limits.ts'
import type { SchemaNode } from './schema-node.ts'
import { TooComplex } from './step-budget.ts'

/**
 * Throws `TooComplex` for a schema that no value could be checked against within the budget: one that applies itself to the same value without end, or so
 * many others that they are more than the steps there are. It overestimates: alternatives count as if all of them were looked at.
 */
export function checkStaticCost(root: SchemaNode): void {
  const costs = new Map<SchemaNode, number>()
  const path = new Set<SchemaNode>()
  const stack: { readonly node: SchemaNode; next: number; cost: number }[] = []
  const enter = (node: SchemaNode): void => {
    if (path.has(node)) throw new TooComplex('a schema in it applies itself to the same value, without end')
    path.add(node)
    stack.push({ node, next: 0, cost: 1 })
  }
  enter(root)
  for (let frame = stack.at(-1); frame; frame = stack.at(-1)) {
    const inner = frame.node.inPlace[frame.next]
    if (!inner) {
      stack.pop()
      path.delete(frame.node)
      costs.set(frame.node, frame.cost)
      continue
    }
    const known = costs.get(inner)
    if (known === undefined) {
      enter(inner)
      continue
    }
    frame.next += 1
    frame.cost += known
    if (frame.cost > maxValueSteps) {
      throw new TooComplex(`it applies more than ${maxValueSteps.toLocaleString('en')} schemas to one value`)
    }
  }
}
