import type { Case, Mutant } from './mutant.ts'

const asks = (test: string): Case => ({ file: 'test/stories/tools-ask.test.ts', test })
const tools = (test: string): Case => ({ file: 'test/mcp/mcp-tools.test.ts', test })
const served = (test: string): Case => ({ file: 'test/mcp/agents-served.test.ts', test })
const hostile = (test: string): Case => ({ file: 'test/mcp/hostile-servers.test.ts', test })

const waits = 'waits as a question in the inbox, and is run again with the answer and its state'
const refused = 'a state that was changed, is of another secret or of another agent is refused'

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'the answer to a question of a tool is its result',
    'src/log/call-phase.ts',
    "round.kind === 'recovery' || round.toolState !== undefined",
    "round.kind === 'recovery'",
    asks(waits),
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
]

export const mcpMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `mcp: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
