import type { Node, Place } from './syntax.ts'

/** A way to break one place: this text instead of what is between the offsets. */
export type Change = {
  readonly operator: string
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** Every way to break what is at a place that this knows of. Not all of them compile. */
export function changesAt({ node, around }: Place, text: string): Change[] {
  const parent = around.at(-1)
  const source = (part: { readonly start: number; readonly end: number }) => text.slice(part.start, part.end)
  if (isLogDetail(node, around, text)) return []
  const replace = (operator: string, replacement: string, part: Node = node): Change => {
    return { operator, start: part.start, end: part.end, replacement }
  }
  switch (node.type) {
    case 'IfStatement':
      return [...conditionChanges(node.test), ...(isGuard(node) ? [replace('drop the guard', ';')] : [])]
    case 'ConditionalExpression':
      return conditionChanges(node.test)
    case 'WhileStatement':
    case 'DoWhileStatement':
      return [replace('negate the condition', `!(${source(node.test)})`, node.test)]
    case 'ForStatement':
      return node.test ? [replace('negate the condition', `!(${source(node.test)})`, node.test)] : []
    case 'BinaryExpression':
      return (otherComparisons.get(node.operator) ?? []).map((operator) =>
        replace(`${node.operator} becomes ${operator}`, `(${source(node.left)} ${operator} ${source(node.right)})`),
      )
    case 'LogicalExpression':
      return logicalChanges()
    case 'UnaryExpression':
      if (node.operator !== '!' && node.operator !== '-') return []
      return [replace(`drop ${node.operator}`, source(node.argument))]
    case 'UpdateExpression':
      return [replace('count the other way', source(node).replace(node.operator, node.operator === '++' ? '--' : '++'))]
    case 'AssignmentExpression':
      return (otherAssignments.get(node.operator) ?? []).map((operator) =>
        replace(`${node.operator} becomes ${operator}`, `${source(node.left)} ${operator} ${source(node.right)}`),
      )
    case 'Literal':
      return literalChanges()
    case 'AwaitExpression':
      return isAwaitedAnyway(node, around) ? [] : [replace('drop await', `(${source(node.argument)})`)]
    case 'ExpressionStatement':
      return isTestHook(node.expression) ? [] : [replace('drop the statement', ';')]
    case 'BreakStatement':
    case 'ContinueStatement':
      return [replace(`drop ${node.type === 'BreakStatement' ? 'break' : 'continue'}`, ';')]
    case 'ThrowStatement':
      return [replace('drop the throw', ';')]
    case 'BlockStatement':
      return blockChanges()
    case 'SpreadElement':
      return [replace('drop the spread', parent?.type === 'ObjectExpression' ? '...{}' : '...[]')]
    case 'Property':
      return parent?.type === 'ObjectExpression' ? [replace('drop the property', '...{}')] : []
    case 'ArrayExpression':
      return node.elements.length > 0 ? [replace('empty the list', '[]')] : []
    case 'CallExpression':
      return callChanges()
    default:
      return []
  }

  function conditionChanges(test: Node): Change[] {
    const always = [true, false].map((value) => replace(`the condition is always ${value}`, String(value), test))
    return [replace('negate the condition', `!(${source(test)})`, test), ...always]
  }

  function logicalChanges(): Change[] {
    if (node.type !== 'LogicalExpression') return []
    const [left, right] = [source(node.left), source(node.right)]
    const sides = [
      replace(`only the left of ${node.operator}`, `(${left})`),
      replace(`only the right of ${node.operator}`, `(${right})`),
    ]
    if (node.operator === '??') return sides
    const other = node.operator === '&&' ? '||' : '&&'
    return [replace(`${node.operator} becomes ${other}`, `((${left}) ${other} (${right}))`), ...sides]
  }

  function literalChanges(): Change[] {
    if (node.type !== 'Literal' || isName(node, parent) || isStatementName(node, around)) return []
    if (typeof node.value === 'boolean') return [replace('the other truth', String(!node.value))]
    if (typeof node.value === 'number') {
      // One more or less of what is small counts; of a limit it does not, and of a time it could not be seen.
      const others = Math.abs(node.value) <= 10 ? [node.value + 1, node.value - 1] : [0, 1]
      return others.map((other) => replace(`${node.value} becomes ${other}`, other < 0 ? `(${other})` : String(other)))
    }
    // Prose is for people: only what programs read is broken.
    const isRead = typeof node.value === 'string' && node.value !== '' && !/[\s:]/.test(node.value)
    return isRead ? [replace('another text', "'mutated'")] : []
  }

  function blockChanges(): Change[] {
    if (node.type !== 'BlockStatement' || node.body.length === 0) return []
    if (parent && isFunction(parent)) return [replace('empty the function', '{}')]
    if (parent?.type === 'CatchClause') return [replace('empty the catch', '{}')]
    return parent?.type === 'TryStatement' && parent.finalizer === node ? [replace('empty the finally', '{}')] : []
  }

  function callChanges(): Change[] {
    if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return []
    const { object, property } = node.callee
    const name = source(property)
    const others = (otherMethods.get(name) ?? []).map((other) => replace(`${name} becomes ${other}`, other, property))
    return droppable.has(name) ? [...others, replace(`drop ${name}`, `(${source(object)})`)] : others
  }
}

const otherComparisons: ReadonlyMap<string, readonly string[]> = new Map([
  ['<', ['<=', '>=']],
  ['<=', ['<', '>']],
  ['>', ['>=', '<=']],
  ['>=', ['>', '<']],
  ['===', ['!==']],
  ['!==', ['===']],
  ['+', ['-']],
  ['-', ['+']],
  ['*', ['/']],
  ['/', ['*']],
  ['%', ['*']],
])

const otherAssignments: ReadonlyMap<string, readonly string[]> = new Map([
  ['+=', ['-=', '=']],
  ['-=', ['+=']],
  ['*=', ['=']],
  ['??=', ['=']],
])

const otherMethods: ReadonlyMap<string, readonly string[]> = new Map([
  ['some', ['every']],
  ['every', ['some']],
  ['find', ['findLast']],
  ['findLast', ['find']],
  ['min', ['max']],
  ['max', ['min']],
  ['floor', ['ceil']],
  ['ceil', ['floor']],
  ['push', ['unshift']],
  ['startsWith', ['endsWith', 'includes']],
  ['endsWith', ['startsWith']],
  ['all', ['race']],
])

const droppable = new Set(['filter', 'slice', 'toSorted', 'toReversed', 'trim', 'toWellFormed', 'toLowerCase'])

function isGuard(node: Extract<Node, { type: 'IfStatement' }>): boolean {
  const { consequent, alternate } = node
  if (alternate) return false
  const last = consequent.type === 'BlockStatement' ? consequent.body.at(-1) : consequent
  return ['ReturnStatement', 'ThrowStatement', 'ContinueStatement', 'BreakStatement'].includes(last?.type ?? '')
}

function isFunction({ type }: Node): boolean {
  return ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].includes(type)
}

/** Where tests let a process die: nothing happens there otherwise. */
function isTestHook(expression: Node): boolean {
  return (
    expression.type === 'CallExpression' &&
    expression.callee.type === 'Identifier' &&
    expression.callee.name === 'failpoint'
  )
}

function isName(node: Node, parent: Node | undefined): boolean {
  if (parent?.type === 'Property' && parent.key === node) return true
  if (parent?.type === 'CallExpression' && isTestHook(parent)) return true
  return parent?.type === 'ImportExpression' || parent?.type === 'ExportNamedDeclaration'
}

const logCalls = /(^|[.#])(logger\.(debug|info|warn|error)|warn|warnOfStore)$/

/** The details of a log line are for people, as its words are. That the line is written at all counts. */
function isLogDetail(node: Node, around: readonly Node[], text: string): boolean {
  return around.some((outer, index) => {
    if (outer.type !== 'CallExpression' || !logCalls.test(text.slice(outer.callee.start, outer.callee.end)))
      return false
    return outer.arguments.indexOf((around[index + 1] ?? node) as never) > 0
  })
}

/** An async function awaits what it returns, unless a `try` around it must see it fail. */
function isAwaitedAnyway(node: Node, around: readonly Node[]): boolean {
  let inner = node
  for (const outer of around.toReversed()) {
    if (outer.type === 'ReturnStatement') return !isTried(outer, around)
    if (outer.type === 'ArrowFunctionExpression') return outer.body === inner
    const isValue =
      outer.type === 'ParenthesizedExpression' ||
      (outer.type === 'ConditionalExpression' && outer.test !== inner) ||
      (outer.type === 'LogicalExpression' && outer.right === inner)
    if (!isValue) return false
    inner = outer
  }
  return false
}

function isTried(node: Node, around: readonly Node[]): boolean {
  const inside = around.slice(0, around.indexOf(node))
  return inside.slice(inside.findLastIndex(isFunction) + 1).some(({ type }) => type === 'TryStatement')
}

/** Under which a connection keeps a prepared statement: any name will do that no other statement has. */
function isStatementName(node: Node, around: readonly Node[]): boolean {
  const [object, property] = around.slice(-2)
  if (object?.type !== 'ObjectExpression' || property?.type !== 'Property' || property.value !== node) return false
  const names = object.properties.map((one) =>
    one.type === 'Property' && one.key.type === 'Identifier' ? one.key.name : '',
  )
  return names.includes('text') && property.key.type === 'Identifier' && property.key.name === 'name'
}
