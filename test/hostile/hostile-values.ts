/** What a caller without types, or with bad intentions, may pass anywhere. Each is made anew, since some can be used once. */
export const hostileValues: readonly (readonly [name: string, make: () => unknown])[] = [
  ['null', () => null],
  ['undefined', () => undefined],
  ['false', () => false],
  ['a number', () => 5],
  ['zero', () => 0],
  ['a negative number', () => -1],
  ['a fraction', () => 1.5],
  ['NaN', () => Number.NaN],
  ['infinity', () => Number.POSITIVE_INFINITY],
  ['more than a safe integer', () => 2 ** 60],
  ['a bigint', () => 10n],
  ['a symbol', () => Symbol('hostile')],
  ['an empty string', () => ''],
  ['a lone surrogate', () => '\ud800'],
  ['a control character', () => 'a\u0000b'],
  ['a huge string', () => 'x'.repeat(3_000_000)],
  ['the name of a prototype', () => '__proto__'],
  ['an empty object', () => ({})],
  ['an object without a prototype', () => Object.create(null)],
  ['an empty list', () => []],
  ['a list of nothing', () => [null, undefined]],
  ['a sparse list', () => new Array(4)],
  ['a list that is longer than memory', () => new Array(2 ** 32 - 1)],
  ['a function', () => () => 'x'],
  ['a date', () => new Date(0)],
  ['a date that is none', () => new Date(Number.NaN)],
  ['a map', () => new Map([['a', 1]])],
  ['bytes', () => new Uint8Array([1, 2, 3])],
  ['an error', () => new Error('hostile')],
  ['an instance of a class', () => new Instance()],
  ['an object that contains itself', cyclic],
  ['a list that contains itself', cyclicList],
  ['an object of great depth', () => nested(100_000)],
  ['an object with lone surrogates as keys', () => ({ '\ud800': 1, inner: { '\udfff': '\ud800' } })],
  ['an object with a __proto__ of its own', () => JSON.parse('{"__proto__":{"x":1}}')],
  ['an object whose toJSON throws', () => ({ toJSON: fail })],
  ['an object whose toString throws', () => ({ toString: fail, [Symbol.toPrimitive]: fail })],
  ['an object whose getters throw', () => Object.defineProperties({}, described(fail))],
  [
    'an object whose getters throw what throws',
    () =>
      Object.defineProperties(
        {},
        described(() => throws(proxy())),
      ),
  ],
  ['an object whose getters change their mind', () => Object.defineProperties({}, described(changing()))],
  ['a proxy that throws', proxy],
  ['a proxy of a list that throws', () => new Proxy([], thrower)],
  ['a proxy that throws in the end', () => lateProxy()],
  ['a revoked proxy', revoked],
  ['a revoked proxy of a list', () => revoked([])],
  ['a promise that never comes', () => new Promise(() => {})],
]

class Instance {
  readonly value = 1
  get key(): string {
    return 'x'
  }
}

function fail(): never {
  throw new TypeError('hostile')
}

function throws(error: unknown): never {
  throw error
}

/** The names that verbs read from their options and arguments. */
const names = [
  ...['key', 'whenBusy', 'output', 'untilTool', 'maxSteps', 'maxTokens', 'agent', 'id', 'at', 'turnId', 'signal'],
  ...['callId', 'round', 'args', 'reason', 'approved', 'before', 'after', 'limit', 'status', 'forkOf', 'maxBuffered'],
  ...['parts', 'type', 'text', 'data', 'mediaType', 'filename', 'evictions', 'tag', 'seq', 'tenant', 'user', 'system'],
  ...['name', 'events', 'content', 'message', 'options', 'drainMs', 'blob', 'fromSeq', 'toSeq', 'version', 'base'],
  ...[
    'calls',
    'resolve',
    'expectedSeq',
    'epoch',
    'wakeAt',
    'conversation',
    'settings',
    'fsmState',
    'agents',
    'turnRef',
  ],
  ...['length', '0', 'then', '~standard', 'conversationId'],
]

function described(get: () => unknown): PropertyDescriptorMap {
  return Object.fromEntries(
    names.filter((name) => name !== 'then').map((name) => [name, { get, enumerable: true, configurable: true }]),
  )
}

function changing(): () => unknown {
  let n = 0
  const answers = ['x', 7, null, { a: 1 }, 10n, Symbol('x')]
  return () => answers[n++ % answers.length]
}

const thrower: ProxyHandler<object> = new Proxy({}, { get: () => fail })

function proxy(): object {
  return new Proxy({}, thrower)
}

/** Lets the first looks pass. */
function lateProxy(): object {
  let looks = 0
  const get = (target: object, name: PropertyKey): unknown => {
    looks += 1
    if (looks > 3) fail()
    return Reflect.get(target, name)
  }
  return new Proxy({ type: 'text', text: 'x', callId: 'x' }, { get })
}

function revoked(target: object = {}): object {
  const { proxy: gone, revoke } = Proxy.revocable(target, {})
  revoke()
  return gone
}

function cyclic(): object {
  const value: { self?: unknown } = {}
  value.self = value
  return value
}

function cyclicList(): unknown[] {
  const value: unknown[] = []
  value.push(value)
  return value
}

function nested(depth: number): object {
  let value: object = {}
  for (let level = 0; level < depth; level++) value = { value }
  return value
}
