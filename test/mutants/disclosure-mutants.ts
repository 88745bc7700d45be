import type { Case, Mutant } from './mutant.ts'

const pages = (route: string): Case => ({
  file: 'test/server/disclosure.test.ts',
  test: `no page is told by ${route} what a tool, a step or a provider said`,
})
const told = (test: string): Case => ({ file: 'test/server/disclosure.test.ts', test })
const operators = (test: string): Case => ({ file: 'test/server/operators.test.ts', test })
const redactor = (test: string): Case => ({ file: 'src/base/redact/redactor.test.ts', test })
const story = (test: string): Case => ({ file: 'test/stories/secrets-in-errors.test.ts', test })
const addresses = (test: string): Case => ({ file: 'test/server/addresses.test.ts', test })
const foreign = (test: string): Case => ({ file: 'src/store/sqlite/foreign-files.test.ts', test })
const toolState = (showErrors: string): Case => ({
  file: 'test/server/tool-state.test.ts',
  test: `what a tool keeps for its question is in no answer to anyone but operators (showErrors: ${showErrors})`,
})
const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const everywhere = story('are in neither the log, nor the prompt, nor what is live, kept or logged')

type Row = readonly [name: string, file: string, find: string, replace: string, killedBy: Case]

/** Bugs that let out what failed, or a secret in it. */
const rows: readonly Row[] = [
  [
    'pages are told everything',
    'src/server/dispatch.ts',
    'isOperator ? everything : { errors: settings.showErrors, withheld: false }',
    'isOperator || !settings.showErrors ? everything : everything',
    pages('readEvents'),
  ],
  [
    'a view is sent as it is',
    'src/server/dispatch.ts',
    'discloseView(await handle.view(options), disclosure)',
    'handle.view(options)',
    pages('viewConversation'),
  ],
  [
    'a history is sent as it is',
    'src/server/dispatch.ts',
    'messages: discloseMessages(messages, disclosure)',
    'messages',
    pages('readHistory'),
  ],
  [
    'live streams are sent as they are',
    'src/server/dispatch.ts',
    'yield discloseWatched(event, disclosure)',
    'yield event',
    pages('live'),
  ],
  [
    'snapshots are sent as they are',
    'src/server/dispatch.ts',
    'discloseSnapshot(await inspection.snapshot(), disclosure)',
    'inspection.snapshot()',
    pages('readSnapshot'),
  ],
  [
    'turns of UI messages are sent as they are',
    'src/server/dispatch.ts',
    'turn: discloseTurn(record.turn, disclosure)',
    'turn: record.turn',
    pages('uiMessages'),
  ],
  [
    'the end of a session is sent as it is',
    'src/server/dispatch.ts',
    'discloseStanding(await session.resume(value, options), disclosure)',
    'session.resume(value, options)',
    pages('resumeFlow'),
  ],
  [
    'records of sessions are sent as they are',
    'src/server/dispatch.ts',
    'record.outcomes.map((one) => discloseFlowOutcome(one, disclosure))',
    'record.outcomes',
    pages('flowRecord'),
  ],
  [
    'the second answer is told how a child agent failed',
    'src/server/dispatch.ts',
    'resolution: discloseResolution(answer.resolution, callId, disclosure)',
    'resolution: { ...answer.resolution, at: answer.resolution.at + callId.length * Number(disclosure.errors) }',
    pages('approveCall'),
  ],
  [
    'what failed in a child agent is shown',
    'src/view/disclose.ts',
    "if (round.kind !== 'sub_agent' || round.resolution?.status !== 'resolved') return round",
    "if (round.kind !== 'recovery' || round.resolution?.status !== 'resolved') return round",
    { file: 'src/view/disclose.test.ts', test: 'contains nothing that was thrown or answered, on any path' },
  ],
  [
    'the reason of a failed turn is shown',
    'src/view/hidden.ts',
    "return status === 'failed' ? codeOf(reason) : reason",
    'return reason',
    pages('turnOutcome'),
  ],
  [
    'what is meant for people is hidden',
    'src/view/hidden.ts',
    'if (userFacing === true || isOwnText(error)) return error',
    'if (isOwnText(error) || userFacing === null) return error',
    told('a page is told what is meant for people'),
  ],
  [
    'feeds are shared between users and operators',
    'src/server/live/feeds.ts',
    'ref.id, disclosure.errors, disclosure.withheld',
    'ref.id',
    operators('an operator who acts as a user is told everything, and shares no stream with users'),
  ],
  [
    'every user reads prompts',
    'src/server/dispatch.ts',
    'if (route.readsPrompts && !isOperator',
    'if (route.readsPrompts && isOperator',
    operators('is not for users'),
  ],
  [
    'explanations of prompts are for every user',
    'src/server/routes/conversations.ts',
    "prompt, and why, for operators and users who may read prompts',\n    readsPrompts: true,",
    "prompt, and why, for operators and users who may read prompts',",
    operators('is read by three routes'),
  ],
  [
    'a claim to be an operator that is not good is let pass',
    'src/server/dispatch.ts',
    'const isClaimed = route.isForOperators === true || request.headers.has(operatorHeader)',
    'const isClaimed = route.isForOperators === true || (request.headers.get(operatorHeader) ?? "") !== ""',
    operators('a user with an empty claim'),
  ],
  [
    "an operator's token acts as a user",
    'src/server/dispatch.ts',
    "  if (isSameSecret(bearerToken(request) ?? '', upkeep?.operatorToken ?? '')) return null\n",
    '  if (isSameSecret(bearerToken(request) ?? "", upkeep?.operatorToken ?? "")) return {} as Scope\n',
    operators('an operator token that authenticate would accept as a user has no scope'),
  ],
  [
    'two empty secrets are the same',
    'src/server/guard/secret.ts',
    "return isSame && given !== '' && expected !== ''",
    'return isSame',
    operators('is the same as none'),
  ],
  [
    'an empty operator token is taken',
    'src/server/server-problems.ts',
    "operatorToken.trim() === ''",
    'operatorToken === null',
    operators('is refused when it is configured: empty'),
  ],
  [
    'results of tools are committed as they are',
    'src/engine/turn/pending-outcomes.ts',
    'result: redactResult(result, redact), ...(halt',
    'result, ...(halt',
    everywhere,
  ],
  [
    'what a hook threw is committed as it is',
    'src/engine/turn/pending-outcomes.ts',
    'outcome.reason === null ? outcome : { ...outcome, reason: redact(outcome.reason) }',
    'outcome',
    story('are in no end of a turn, whichever hook threw them'),
  ],
  [
    "a provider's words are not redacted",
    'src/model/fault.ts',
    'redact(text, { opaqueWords: true })',
    'redact("").slice(0, 0).concat(text)',
    { file: 'src/model/fault.test.ts', test: 'holds nothing of the request' },
  ],
  [
    'what a step threw is committed as it is',
    'src/engine/flow/flow-owner.ts',
    'events.map((event) => redactFlowEvent(event, this.#context.node.redact))',
    'events.map((event) => redactFlowEvent(event, (text) => text))',
    story('are in no record of a session, whether a step throws them or the flow'),
  ],
  [
    'loggers are told secrets',
    'src/runtime/runtime-options.ts',
    'redactingLogger(given, redact)',
    'redactingLogger(given, (text) => text)',
    everywhere,
  ],
  [
    'a cut leaves half a secret',
    'src/base/redact/redactor.ts',
    'mostRead - margin',
    'mostRead',
    redactor('leaves no half of a secret, wherever it is cut'),
  ],
  [
    "a text passes where the application's redact throws",
    'src/base/redact/redactor.ts',
    'return withheldText',
    'return text',
    redactor('lets nothing pass where it throws'),
  ],
  [
    'short values of the environment are taken for secrets',
    'src/base/redact/redactor.ts',
    'form.length >= leastLength',
    'form.length > 0',
    redactor('stay where they are short, or their names do not look secret'),
  ],
  [
    'secrets of the environment are not looked for',
    'src/base/redact/redactor.ts',
    '...valueSpans(read, values)',
    '...valueSpans(read, values.slice(0, 0))',
    redactor('are taken out: as they are'),
  ],
  [
    'a password of a database ends at its first at sign',
    'src/base/redact/redactor.ts',
    `[^\\s"'<>]{1,2000})@/dgi }`,
    `[^\\s"'<>@]{1,2000})@/dgi }`,
    redactor('a connection string with a password as it is'),
  ],
]

/** Bugs in what may be named, opened or touched. */
const doors: readonly Row[] = [
  [
    'any address is one of a file',
    'src/log/blob-ref.ts',
    "return protocol === 'http:' || protocol === 'https:'",
    "return protocol !== 'https+x:'",
    addresses('"javascript:alert(1)" is refused, however it is sent'),
  ],
  [
    'models may name any source',
    'src/model/message-builder.ts',
    'source: withWebUrl(source)',
    'source: Object.keys(withWebUrl(source)).length < 0 ? {} : source',
    addresses('of a generated file, and of a source, is on the web, or pages do not get it'),
  ],
  [
    'models may generate a file at any address',
    'src/model/message-draft.ts',
    'return isWebUrl(text) ? text : null',
    'return isWebUrl(text) || text.length < 9_000 ? text : null',
    { file: 'src/model/generated-file.test.ts', test: 'an address that is not on the web is no file' },
  ],
  [
    'addresses in old logs are shown',
    'src/view/hidden.ts',
    "return { ...part, data: 'about:blank' }",
    'return part',
    addresses('in a log that is older than the rule is not shown, nor given to a model'),
  ],
  [
    'a data: URL may be of any length',
    'src/engine/turn-options.ts',
    'bytes && bytes.byteLength <= maxDataUrlBytes ? bytes : null',
    'bytes',
    addresses('what cannot be read, or is too long, is refused'),
  ],
  [
    'bytes that are not text are taken for themselves',
    'src/server/guard/read-body.ts',
    "if (!isText(pathname)) throw new InvalidRequestError('path', 'it has bytes that are not UTF-8')",
    "if (!isText(pathname.slice(0, 0))) throw new InvalidRequestError('path', 'it has bytes that are not UTF-8')",
    addresses('a byte that no letter begins with: it is refused'),
  ],
  [
    'a conversation may be called ..',
    'src/store/tenant-store.ts',
    "checkNewId('conversation id', id)",
    "checkId('conversation id', id)",
    memory('nothing new is called . or .., which no path of a URL can hold'),
  ],
  [
    'a fork may be called ..',
    'src/store/tenant-store.ts',
    "checkNewId('new conversation id', newId)",
    "checkId('new conversation id', newId)",
    memory('nothing new is called . or .., which no path of a URL can hold'),
  ],
  [
    'a conversation that is called .. goes on no more',
    'src/store/tenant-store.ts',
    'isDotSegment(id) && !(await driver.getConversation(tenant, id))',
    'isDotSegment(id)',
    addresses('is read, answered and deleted as ever where it is there already'),
  ],
  [
    'the file of another program is switched to a log',
    'src/store/sqlite/connection.ts',
    '  refuseForeignFile(path)\n',
    '',
    foreign('as SQLite makes them is refused, and neither it nor what is beside it changes'),
  ],
  [
    'a reader leaves a log behind',
    'src/store/sqlite/migrate.ts',
    'if (existsSync(`${path}-wal`)) return',
    'if (existsSync(path)) return',
    foreign('with a write-ahead log is refused, and neither it nor what is beside it changes'),
  ],
  [
    'what is in a log alone is not seen',
    'src/store/sqlite/migrate.ts',
    'if (existsSync(`${path}-wal`)) return',
    'if (existsSync(`${path}-none`)) return',
    foreign('with all of it in a log that was left behind is refused, and neither it nor what is beside it changes'),
  ],
  [
    'a version makes a file ours',
    'src/store/sqlite/migrate.ts',
    'own === firstTables.length',
    'own >= 0',
    foreign('with the version of ours is refused, and neither it nor what is beside it changes'),
  ],
  [
    'a file of 0.1 is switched to a log before it is refused',
    'src/store/sqlite/migrate.ts',
    'error instanceof PerdureError || isBusy(error)',
    'error instanceof StoreError || isBusy(error)',
    foreign('of its first schema is refused and not changed, with the commands that move it'),
  ],
  [
    'what a tool keeps for its question is in views',
    'src/view/disclose.ts',
    'withheld ? call : withoutToolState(withExposedState(call))',
    'withheld ? call : withExposedState(call)',
    toolState('false'),
  ],
  [
    'what a tool keeps for its question is in events where errors are shown',
    'src/view/disclose.ts',
    'disclosure.withheld || event.content.state === null',
    'disclosure.withheld || disclosure.errors || event.content.state === null',
    toolState('true'),
  ],
  [
    'what a page says of its failed tool keeps its secrets',
    'src/runtime/answer-call.ts',
    '{ ...value, error: redact(error) }',
    '{ ...value, error: error || redact(error) }',
    story('are in no answer of a page whose tool failed'),
  ],
]

export const disclosureMutants: readonly Mutant[] = [...rows, ...doors].map(
  ([name, file, find, replace, killedBy]) => ({
    name: `disclosure: ${name}`,
    edits: [{ file, find, replace }],
    killedBy: [killedBy],
  }),
)
