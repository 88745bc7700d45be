import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { interruptedStep } from '../../engine/flow/decide-flow.ts'
import { modelError } from '../../model/fault.ts'
import { failureOf } from '../../store/postgres/failure.ts'
import { asStoreError } from '../../store/sqlite/failure.ts'
import * as cli from './cli-errors.ts'
import { type ErrorCode, errorCodes } from './codes.ts'
import * as definition from './definition-errors.ts'
import * as flow from './flow-errors.ts'
import * as log from './log-errors.ts'
import * as context from './model-errors.ts'
import * as model from './model-errors.ts'
import { PerdureError } from './perdure-error.ts'
import * as runtime from './runtime-errors.ts'
import * as server from './server-errors.ts'
import * as store from './store-errors.ts'
import * as upkeep from './store-errors.ts'

const place = { conversationId: 'ticket-42', seq: 7, type: 'titled' }
const advised = 'It broke. Check the disk.'

const saidByProvider: Record<model.ModelErrorCode, [status: number | null, problem: string]> = {
  model_failed: [500, 'Internal server error'],
  model_interrupted: [null, 'terminated'],
  model_overloaded: [529, 'Overloaded'],
  model_rate_limited: [429, 'Too many requests'],
  model_timed_out: [null, 'no chunk arrived for 240000 ms'],
  model_rejected: [400, 'max_tokens: must be at least 1'],
  model_unauthorized: [401, 'invalid x-api-key'],
  model_unreachable: [null, 'connect ECONNREFUSED 127.0.0.1:443'],
}

/** Of each class, as it is thrown: built by whatever throws it where the class leaves the wording to others. */
const thrown: PerdureError[] = [
  new context.ContextOverflowError(210_000, 180_000, [
    "the result of 'read_file': 150000 tokens",
    'the instructions: 40000 tokens',
  ]),
  new cli.CommandLineError("Unknown option '--foo'", 'list'),
  new cli.ConfigError(
    'perdure.config.ts',
    'exports nothing',
    'Make defineConfig({ agents, store }) its default export',
  ),
  new cli.CutOffError(
    'The connection broke during the export, and its output is not complete',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  new cli.UpkeepNotServedError('http://127.0.0.1:4111/'),
  new cli.NothingWaitsError('ticket-42', 'an approval', 'perdure show ticket-42'),
  new cli.NoModelCallsError('ticket-42'),
  new cli.StoreMissingError("There is no store at 'agents.db'", 'Check the path'),
  new definition.DefinitionError("The tool 'refund'", ["unknown key 'nmae'"]),
  new definition.StateInvalidError('shop', 'ticket-42', 'items must be a list'),
  new definition.StateRefusedError('items must be a list'),
  new definition.HookError('memory', 'threw: no network'),
  new definition.InjectionOverflowError('memory', 5_200, 4_000),
  new definition.ModelChoiceError('support', 'threw Error: no tenant'),
  new definition.InvalidAnswerError('answer', 'size must be a number'),
  new definition.ArgumentsChangedError('call-1'),
  new definition.SchemaNotConvertibleError('valibot', 'it has a transform'),
  new definition.SchemaTooComplexError("objects against 'output'", 'it takes more than 500,000 steps'),
  new flow.DeterminismError('import-7', 3, { kind: 'step' }, { kind: 'sleep' }),
  new flow.FlowStepError(interruptedStep('pay').error),
  new flow.AwaitedConversationDeletedError('till'),
  new flow.NoSessionError('import-7'),
  new flow.NoSuchAgentError('support', []),
  new flow.NoSuchFlowError('import', ['refund']),
  new flow.NotSuspendedError('import-7', 'done'),
  new flow.NotSuspendedError('import-7', 'running', { who: 'eve', at: 0, value: null }),
  new flow.SessionExistsError('import-7'),
  new flow.NotAConversationError('import-7', 'import'),
  new flow.NotAConversationError('import-7', null),
  new flow.NotASessionError('ticket-42'),
  new log.EventInvalidError(place, "'content.title' must be a string, not missing"),
  new log.EventInvalidError({ type: 'titled' }, "'content.title' must be a string, not missing"),
  new log.EventTooLargeError('user_msg', 2_000_000, 1_048_576),
  new log.EventUnknownError({ ...place, type: 'note' }),
  new log.EventUnknownError({ ...place, type: 'note', content: { since: '0.3.0' } }),
  new log.InvalidValueError('content.at', 'a Date is not a plain object'),
  ...modelCodes().map(failedModel),
  model.TransformFailedError.threw(new Error('chunk.text is not a function')),
  model.TransformFailedError.returnedPromise(),
  new runtime.AgentMismatchError('ticket-42', 'support', 'sales'),
  new runtime.AgentMissingError('sales', 'ticket-42', ['support']),
  new runtime.AgentMissingError(null, 'ticket-42', ['support', 'sales']),
  new runtime.ToolMissingError('ticket-42', 'support', { callId: 'call-1', name: 'refund' }, 600_000),
  new runtime.BusyError('ticket-42', 't1'),
  new runtime.TurnSupersededError('ticket-42', 't1'),
  new runtime.ForceNeededError('ticket-42', 't1', [{ callId: 'c1', name: 'refund' }]),
  new runtime.ConversationQuarantinedError('ticket-42'),
  new runtime.ChildConversationError('child-c1', 'ticket-42'),
  new runtime.AuthorizeFailedError('read', new Error('no connection')),
  new runtime.McpServerError('github', 'cannot be reached: no connection; the next attempt is in 2000 ms'),
  new runtime.RuntimeClosedError(),
  new runtime.SnapshotDeleteError('ticket-42', new Error('no connection')),
  new runtime.SnapshotLoadError('ticket-42', new Error('no connection')),
  new runtime.ScopeMissingError('ticket-42', 'ann'),
  new runtime.ScopeNotRestorableError(),
  new runtime.TenantMissingError(),
  new runtime.TurnNotFoundError('ticket-42', 't1'),
  new server.FileNotFoundError('ticket-42'),
  new runtime.WatcherLaggedError('ticket-42', 7),
  new server.HostNotAllowedError(),
  new server.InvalidRequestError('body', 'message: is required'),
  new server.MediaTypeError(),
  new server.MediaTypeError('application/x-ndjson'),
  new server.MethodNotAllowedError(['GET']),
  new server.OperatorOnlyError(),
  new server.OriginNotAllowedError(),
  new server.RateLimitedError(500),
  new server.RemoteError({ code: 'rate_limited', detail: advised, status: 429, retryable: true }),
  new server.RequestTimedOutError(30_000),
  new server.RequestTimedOutError(300_000, 'No more of the body arrived'),
  new server.RequestTooLargeError('body', 1024),
  new server.RouteNotFoundError(),
  new server.SignInRefusedError('unknown'),
  new server.SignInRefusedError('used'),
  new server.SignInRefusedError('expired'),
  new server.StudioNotBuiltError(),
  new server.NotReadyError('silent', 'ok'),
  new server.SchemaNotAllowedError('output'),
  new server.ResumeIncompleteError('ticket-42', ['call-1:1', 'call-2:1']),
  new server.ServerFailedError(),
  new server.ServerUnreachableError('connection refused'),
  new server.TurnOptionsNotAllowedError(['maxSteps', 'maxTokens']),
  new server.UnauthenticatedError(),
  new store.CallNotFoundError('c1'),
  new store.ConversationDeletedError('ticket-42'),
  new store.ConversationExistsError('ticket-42'),
  new store.ConversationNotFoundError('ticket-42'),
  new store.ConversationUnreadableError('ticket-42', ['settings']),
  new store.InvalidArgumentError('limit', 'must be at least 1'),
  new store.InvalidIdError('key', 'is empty'),
  new store.OwnerOnlyError('ticket-42', 'tool_result'),
  new store.SessionChangedError('ticket-42'),
  new store.KeyReusedError('ticket-42', 'msg-1'),
  new store.KeyReusedError('ticket-42', 'msg-1', 't1'),
  new store.SummarySupersededError('ticket-42', 20, 24),
  new store.SummaryOverlapError('ticket-42', { fromSeq: 5, toSeq: 20 }, { fromSeq: 1, toSeq: 10 }),
  new store.MissingDependencyError('pg', 'The Postgres store', null),
  new store.SchemaTooNewError(3, 2),
  new store.SchemaTooOldError(15, 'agents.db'),
  new store.StoreBusyError(5_000),
  new store.StoreClosedError(),
  ...[13, 8, 10, 11, 14, 18, 26, 1].map(failedDisk),
  ...(['57P03', '42501', null] as const).map((state) => failedServer(state, false)),
  failedServer(null, true),
  new upkeep.ImportExistsError('default', "the conversation 'ticket-42'"),
  new upkeep.ImportInvalidError(17, 'it is not JSON'),
  new upkeep.ImportTooNewError(2, 1),
  new upkeep.UpkeepUnsupportedError(),
  new store.JobsUnsupportedError(),
  new store.OutboxUnsupportedError(),
  new store.LimitsUnsupportedError(),
  new store.SteeringUnsupportedError(),
]

const imperatives =
  'Ask|Check|Choose|Correct|Create|Export|Find|Free|Give|Inject|Look|Make|Open|Pass|Put|Read|Register|Restore|Resume|Run|See|Send|Set|Simplify|Split|Start|Stop|Try|Upgrade|Use|Wait|Watch'

describe('the codes', () => {
  const sections = sectionsOf(readFileSync('docs/errors.md', 'utf8'))

  test('are the headings of docs/errors.md, in their order', () => {
    expect([...sections.keys()]).toEqual(Object.keys(errorCodes))
  })

  test.each(Object.entries(errorCodes))('%s has its status there, what happened, and what to do', (code, meaning) => {
    const [status, ...told] = (sections.get(code) ?? []).filter((paragraph) => !paragraph.startsWith('```text'))
    expect(status).toBe(`HTTP ${meaning.status}, ${meaning.family}.`)
    expect(told.length).toBeGreaterThanOrEqual(2)
    expect(told.at(-1)).toMatch(/^\*\*Do:\*\* [A-Z]/)
  })

  test('have their messages there, as they are thrown (`npm run docs:errors` writes them)', async () => {
    const page = readFileSync('docs/errors.md', 'utf8')
    await expect(withMessages(page)).toMatchFileSnapshot('../../../docs/errors.md')
  })

  test('are each thrown by a class', () => {
    expect([...new Set(thrown.map((error) => error.code))].toSorted()).toEqual(Object.keys(errorCodes).toSorted())
  })
})

describe('the classes', () => {
  test('are all among the samples of this test', async () => {
    const files = readdirSync('src/base/errors').filter((file) => file.endsWith('-errors.ts'))
    const modules: object[] = await Promise.all(files.map((file) => import(`./${file}`)))
    const classes = modules.flatMap((module) => Object.keys(module)).filter((name) => name.endsWith('Error'))
    expect([...new Set(thrown.map((error) => error.name))].toSorted()).toEqual(classes.toSorted())
  })

  test.each(thrown.map((error) => [error.name, error] as const))(
    '%s says what happened, then what to do',
    (_, error) => {
      expect(error.message).toMatch(new RegExp(`^\\S.*[.;] (${imperatives})\\b.*$`, 'i'))
      expect(error.message).not.toMatch(/undefined|\[object|\.\./)
    },
  )

  test('are known as errors of Perdure, also to another copy of the package', () => {
    const foreign = Object.assign(new Error('elsewhere'), { [Symbol.for('perdure.error')]: true })
    for (const error of [...thrown, foreign]) expect(PerdureError.isInstance(error)).toBe(true)
    for (const other of [new Error('plain'), null, 'text', {}]) expect(PerdureError.isInstance(other)).toBe(false)
  })

  test('keep their cause, and say whether to try again', () => {
    const cause = new Error('EIO')
    expect(new store.StoreError(advised, { cause })).toMatchObject({ cause, retryable: true, ambiguous: false })
    expect(new store.StoreError(advised, { ambiguous: true, retryable: false })).toMatchObject({
      ambiguous: true,
      retryable: false,
    })
    expect(new store.StoreBusyError(1)).toMatchObject({ retryable: true })
    expect(new store.KeyReusedError('a', 'b')).toMatchObject({ retryable: false })
  })
})

function failedModel(code: model.ModelErrorCode): PerdureError {
  const [statusCode, problem] = saidByProvider[code]
  const fault = { code, problem, statusCode, isRetryable: false, retryAfterMs: null }
  return modelError([{ model: { provider: 'anthropic', modelId: 'claude' }, fault }])
}

function failedDisk(errcode: number): PerdureError {
  const reasons: Record<number, string> = {
    8: 'attempt to write a readonly database',
    10: 'disk I/O error',
    11: 'database disk image is malformed',
    13: 'database or disk is full',
    14: 'unable to open database file',
    18: 'string or blob too big',
    26: 'file is not a database',
  }
  const error = Object.assign(new Error(reasons[errcode] ?? 'SQL logic error'), { code: 'ERR_SQLITE_ERROR', errcode })
  return asStoreError(error, 'agents.db') as PerdureError
}

function failedServer(state: string | null, isSent: boolean): PerdureError {
  const error =
    state === null ? new Error('ECONNRESET') : Object.assign(new Error(), { severity: 'ERROR', code: state })
  return failureOf(error, isSent).error as PerdureError
}

function modelCodes(): model.ModelErrorCode[] {
  const codes = Object.keys(errorCodes) as ErrorCode[]
  return codes.filter((code): code is model.ModelErrorCode => code.startsWith('model_'))
}

/** The page with each code's messages below its status. */
function withMessages(page: string): string {
  const bare = page.replaceAll(/```text\n[\s\S]*?```\n\n/g, '')
  return bare.replaceAll(/^## (\w+)\n\nHTTP .*\n\n/gm, (heading, code) => {
    const told = thrown.filter((error) => error.code === code && !(error instanceof server.RemoteError))
    const messages = [...new Set(told.map((error) => error.message))]
    return `${heading}\`\`\`text\n${messages.join('\n')}\n\`\`\`\n\n`
  })
}

/** The paragraphs below each second-level heading. */
function sectionsOf(markdown: string): Map<string, string[]> {
  const [, ...sections] = markdown.split(/^## /m)
  return new Map(
    sections.map((section) => {
      const [heading = '', ...paragraphs] = section.trim().split(/\n{2,}/)
      return [heading, paragraphs]
    }),
  )
}
