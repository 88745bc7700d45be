import type { Case, Mutant } from './mutant.ts'

const asks = (test: string): Case => ({ file: 'test/stories/tools-ask.test.ts', test })
const tools = (test: string): Case => ({ file: 'test/mcp/mcp-tools.test.ts', test })
const served = (test: string): Case => ({ file: 'test/mcp/agents-served.test.ts', test })
const hostile = (test: string): Case => ({ file: 'test/mcp/hostile-servers.test.ts', test })

const changes = (test: string): Case => ({ file: 'test/mcp/changed-lists.test.ts', test })
const kept = (test: string): Case => ({ file: 'test/mcp/kept-secret.test.ts', test })
const strange = (test: string): Case => ({ file: 'test/mcp/strange-answers.test.ts', test })
const requests = (test: string): Case => ({ file: 'test/mcp/served-requests.test.ts', test })
const secrets = (test: string): Case => ({ file: 'src/mcp/client/secrets.test.ts', test })

const waits = 'waits as a question in the inbox, and is run again with the answer and its state'
const refused = 'a state that was changed, is of another secret or of another agent is refused'

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'answers that MCP clients have not taken are not counted',
    'src/mcp/server/mcp-handler.ts',
    'await held.take(response, request.signal)',
    '',
    {
      file: 'test/mcp/unsent-answers.test.ts',
      test: 'MCP clients that take nothing of their answers are cut off when others need the memory',
    },
  ],
  [
    'the answer to a question of a tool is its result',
    'src/log/call-phase.ts',
    "round.kind === 'recovery' || round.toolState !== undefined",
    "round.kind === 'recovery'",
    asks(waits),
  ],
  [
    'a server that says that its tools changed is not heard',
    'src/mcp/client/mcp-tools.ts',
    'onToolsChanged: () => {\n        this.#isChanged = true',
    'onToolsChanged: () => {\n        this.#isChanged = false',
    changes('over HTTP, a server that says that its tools changed is asked again before the next turn'),
  ],
  [
    'pauses between attempts to connect do not grow',
    'src/mcp/client/connection.ts',
    'baseMs * 2 ** Math.min(this.#failures, 20)',
    'baseMs',
    tools('the pauses after failures double up to their limit, and begin anew once it was connected'),
  ],
  [
    'the environment of a process is no secret',
    'src/mcp/client/transport.ts',
    'secrets.add(Object.values(env))',
    '',
    kept('the environment of a process is in nothing that is kept or told, wherever the server repeats it'),
  ],
  [
    'a batch of messages is served under one rate limit',
    'src/mcp/server/mcp-handler.ts',
    'if (Array.isArray(message))',
    'if (!message)',
    requests('a rate limit is asked for each message: many in one request are refused, and none of them is said'),
  ],
  [
    'a state is good for every agent',
    'src/mcp/server/agent-server.ts',
    'if (state?.agent !== agent)',
    'if (!state)',
    served(refused),
  ],
  [
    'what was not asked about is answered',
    'src/mcp/server/agent-server.ts',
    '!state.keys.includes(key) || ',
    '',
    served('only what was asked about is answered'),
  ],
  [
    'a tool asks without end',
    'src/engine/turn/tool-task.ts',
    'rounds.length < mostQuestions',
    'rounds.length < Infinity',
    asks('may ask again, each time in a round of its own, but not without end'),
  ],
  [
    'what a tool keeps for its question is lost',
    'src/log/fold-call.ts',
    '{ toolState: asking.state }',
    '{ toolState: null }',
    asks(waits),
  ],
  [
    'destructive tools run without approval',
    'src/mcp/client/mcp-tools.ts',
    "isDestructive ? 'required' : 'auto'",
    "isDestructive ? 'auto' : 'auto'",
    tools('destructive tools need approval, read-only and idempotent ones may be run again'),
  ],
  [
    'a failing server is asked again at once',
    'src/mcp/client/connection.ts',
    'if (waitMs > 0)',
    'if (waitMs > Infinity)',
    tools('is not asked again within the pause after a failure'),
  ],
  [
    'secrets in results reach the log',
    'src/mcp/client/secrets.ts',
    "hidden.replaceAll(secret, '[redacted]')",
    'hidden.replaceAll(secret, secret)',
    tools('headers reach the server, and neither the log nor an error'),
  ],
  [
    'names with control characters are taken over',
    'src/mcp/client/listed-tools.ts',
    "if (/[\\p{Cc}\\p{Cs}]/u.test(name)) return 'its name has control characters'",
    '',
    hostile('what it lists is left out with a reason'),
  ],
  [
    'the signature of a state is not checked',
    'src/mcp/server/agent-server.ts',
    'more.length > 0 || !states.isSigned(text, signature)',
    'more.length > 0 || !states.isSigned(text, signature) === (null as unknown)',
    served(refused),
  ],
  [
    'anyone may use the server',
    'src/mcp/server/mcp-handler.ts',
    'checkOrigin(request, settings.allowedOrigins)',
    '',
    served('a request without credentials, of a foreign host or origin is refused'),
  ],
  [
    'a secret hides the part of another one that it is',
    'src/mcp/client/secrets.ts',
    'other.length - one.length',
    'one.length - other.length',
    secrets('a secret that is a part of another leaves nothing of that one'),
  ],
  [
    'a token that is still used is pushed out by those that change',
    'src/mcp/client/secrets.ts',
    '        this.#known.delete(part)\n',
    '',
    secrets('tokens that change with each request push out older tokens, not those that are still in use'),
  ],
  [
    'a secret address is told',
    'src/mcp/client/secrets.ts',
    'part.length >= leastInPath',
    'part.length < 0',
    secrets(
      'the parameters of an address and the long parts of its path are secrets, as they are written and as they are meant',
    ),
  ],
  [
    'a secret is looked for in the text of a state',
    'src/mcp/client/mcp-tools.ts',
    '!isSameJson(secrets.hideIn(state), state)',
    'secrets.hide(JSON.stringify(state)) !== JSON.stringify(state)',
    strange('a server that asks for its secret back gets no person to see it, and the call says why'),
  ],
  [
    'the result of a call that ran looks refused',
    'src/mcp/client/mcp-tools.ts',
    'if (checked?.ok === false) throw',
    'if (checked === null) throw',
    strange('a result that does not match its schema was made by a call that ran'),
  ],
  [
    'every error of a server is a refusal',
    'src/mcp/client/connection.ts',
    'const isRefusal = refusals.has(error.code)',
    'const isRefusal = refusals.size > 0',
    strange('only an error that says that the call was not made is a refusal'),
  ],
  [
    'the first page is asked for with an empty cursor',
    'src/mcp/client/listed-tools.ts',
    'cursor === undefined ? {} : { cursor }',
    "{ cursor: cursor ?? '' }",
    strange('pages of a list are asked for with the cursors of the server and no others'),
  ],
  [
    'a tool is offered whose results cannot be checked',
    'src/mcp/client/listed-tools.ts',
    '    if (outputSchema !== undefined) checkSchema(outputSchema)\n',
    '',
    strange('a tool whose results could not be checked is left out'),
  ],
  [
    'what a killed command has started is read on',
    'src/mcp/client/transport.ts',
    'child?.stdout?.destroy()',
    '',
    strange('a command that starts the server as another process is let go with its pipes'),
  ],
  [
    'no schema of a library is flat',
    'src/mcp/server/pending-input.ts',
    "'$schema', 'additionalProperties', ",
    '',
    served('a question with a flat schema is asked as a form, any other as the text of its JSON'),
  ],
  [
    'private addresses are connected to',
    'src/base/pinned-request.ts',
    'signal: signal ?? undefined, allowPrivate }',
    'signal: signal ?? undefined, allowPrivate: allowPrivate || !allowPrivate }',
    {
      file: 'src/base/pinned-request.test.ts',
      test: 'asks for the name before each request, and connects to what it checked then',
    },
  ],
]

export const mcpMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `mcp: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
