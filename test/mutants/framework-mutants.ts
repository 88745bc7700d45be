import type { Case, Mutant } from './mutant.ts'

const story = (test: string): Case => ({ file: 'test/stories/frameworks-held.test.ts', test })
const hold = (test: string): Case => ({ file: 'src/runtime/hold-runtime.test.ts', test })
const listener = (test: string): Case => ({ file: 'src/server/node/to-node-listener.test.ts', test })
const mounted = (test: string): Case => ({ file: 'test/server/frameworks.test.ts', test })

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'a build runs what is due',
    'src/runtime/create-runtime.ts',
    'const worker = work && !build ? new Worker(node) : null',
    'const worker = work ? new Worker(node) : null',
    story('runs nothing during a build, can be read there, and runs what was due when it is started'),
  ],
  [
    'any phase of Next.js is a build',
    'src/base/current-build.ts',
    "env['NEXT_PHASE'] === 'phase-production-build'",
    "env['NEXT_PHASE'] !== undefined",
    story('runs nothing during a build, can be read there, and runs what was due when it is started'),
  ],
  [
    'a build ends calls whose deadline has passed',
    'src/store/create-store.ts',
    'options.expiry ?? currentBuild() === null',
    'options.expiry ?? true',
    story('ends no call whose deadline passes during a build, and tells no subscriber'),
  ],
  [
    'a held runtime is started by a build',
    'src/runtime/hold-runtime.ts',
    'if (currentBuild() === null) await this.get()',
    'await this.get()',
    story('runs nothing during a build, can be read there, and runs what was due when it is started'),
  ],
  [
    'old code stays after a hot reload',
    'src/runtime/hold-runtime.ts',
    'if (isReplaced || !slot.isRegistered)',
    'if (!slot.isRegistered)',
    story('is of the newest code after each of ten hot reloads'),
  ],
  [
    'new code works before the old code has let go',
    'src/runtime/hold-runtime.ts',
    'const creating = this.#letGo.then(() => createWith(create))',
    'const creating = createWith(create)',
    story('works only when the one before has let go of its leases'),
  ],
  [
    'new code waits for a request',
    'src/runtime/hold-runtime.ts',
    'if (this.#isInUse)',
    'if (this.#isInUse && false)',
    story('goes on with due work by itself after a hot reload, without a request'),
  ],
  [
    'code that is mended after an edit that threw waits for a request',
    'src/runtime/hold-runtime.ts',
    '    this.#isInUse = true\n',
    '    this.#isInUse = this.#current !== null\n',
    hold('code that is mended after an edit that could not be created works by itself, as what was before it'),
  ],
  [
    'a runtime that never closes holds up the next one without a word',
    'src/runtime/hold-runtime.ts',
    'toldWhenLate(closing(), drainMs)',
    'closing()',
    hold('a runtime that does not close holds up the next one, and that is told'),
  ],
  [
    'another bundle replaces the runtime in production',
    'src/runtime/hold-runtime.ts',
    "globalThis.process?.env?.['NODE_ENV'] !== 'production'",
    'true',
    story('in production, the same code in another bundle uses the runtime that was started'),
  ],
  [
    'a runtime that was replaced meanwhile is given',
    'src/runtime/hold-runtime.ts',
    'if (this.#current === asked || this.#current === null) return runtime',
    'return runtime',
    hold('a runtime that is asked for while it is replaced is the new one'),
  ],
  [
    'a factory that threw is never tried again',
    'src/runtime/hold-runtime.ts',
    'if (this.#current === creating) this.#current = null',
    '',
    hold('a factory that throws is told to the caller, leaves nothing open, and is tried again'),
  ],
  [
    'a handler keeps the routes of the first runtime',
    'src/server/create-handler.ts',
    'if (open?.runtime === runtime) return open.routes',
    'if (open) return open.routes',
    story('is served by a handler that outlives hot reloads'),
  ],
  [
    'a client that goes away is not told to the handler',
    'src/server/node/to-node-listener.ts',
    "outgoing.once('close', () => gone.abort())",
    '',
    listener('a client that goes away before there is an answer aborts the request'),
  ],
  [
    'a stream goes on when its client has gone away',
    'src/server/node/to-node-listener.ts',
    "outgoing.once('close', stop)",
    '',
    listener('a client that goes away aborts the request and cancels the stream'),
  ],
  [
    'a stream is written faster than it is read',
    'src/server/node/to-node-listener.ts',
    'if (!outgoing.write(value)) await drained(outgoing, stallMs)',
    'outgoing.write(value)',
    listener('a stream is read no faster than the client reads'),
  ],
  [
    'the path that Express cuts off is missing',
    'src/server/node/to-node-listener.ts',
    'incoming.originalUrl ?? incoming.url',
    'incoming.url',
    mounted('messages are sent and answered'),
  ],
  [
    'a body that a parser has read is missing',
    'src/server/node/to-node-listener.ts',
    '!incoming.readableDidRead || body === undefined',
    'true',
    mounted('messages are sent and answered'),
  ],
  [
    'an answer that was begun before ends the process',
    'src/server/node/to-node-listener.ts',
    'answer(handler, incoming, outgoing, stallMs).catch(() => outgoing.destroy())',
    'void answer(handler, incoming, outgoing, stallMs)',
    listener('an answer that something else has begun is cut off, and later requests are answered'),
  ],
]

/** Bugs in what frameworks need: held runtimes, builds, listeners. */
export const frameworkMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `frameworks: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
