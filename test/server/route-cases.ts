import { request as httpRequest } from 'node:http'
import type { Route } from '../../src/server/route.ts'

export type Case =
  /** What the path must name, and the body that would change it. The response is the same whether it belongs to another tenant or to none. */
  | { readonly body?: unknown }
  /** What is not for users of any tenant: the answer to them is the same, whatever they ask for. */
  | { readonly isForOperators: true; readonly body?: unknown }
  /** Why the question does not arise. */
  | { readonly why: string }

/** Every route of the server. One that is missing here fails the test of tenants. */
export const cases: Readonly<Record<string, Case>> = {
  health: { why: 'it tells nothing about anybody' },
  ready: { why: 'it tells nothing about anybody' },
  openApi: { why: 'it tells nothing about anybody' },
  listConversations: { why: 'names nothing: see the test of lists' },
  inbox: { why: 'names nothing: see the test of lists' },
  totals: { why: 'names nothing: see the tests of totals' },
  liveTenant: { why: 'names nothing: see live-tenant.test.ts, and the test of permissions that are taken away' },
  sendMessage: { why: 'creates a conversation of the caller: see the test of sends' },
  startFlow: { why: 'creates a session of the caller: see the test of sends' },
  getConversation: {},
  deleteConversation: {},
  viewConversation: {},
  readHistory: {},
  readEvents: {},
  forkConversation: { body: {} },
  continueConversation: { body: {} },
  renameConversation: { body: { title: 'Refunds' } },
  retryTurn: { body: {} },
  turnOutcome: {},
  cancelTurn: { body: {} },
  approveCall: { body: {} },
  denyCall: { body: {} },
  answerCall: { body: { value: { text: 'x' } } },
  resolveCall: { body: { value: true } },
  extendDeadline: { body: { expiresInMs: null } },
  appendNote: { body: { name: 'rated', data: 5 } },
  live: {},
  listModelCalls: {},
  getModelCall: {},
  explainModelCall: {},
  readSnapshot: {},
  resumeFlow: { body: { value: 1 } },
  continueFlow: { body: {} },
  listFlows: { why: 'it tells which code the server has, to users of all tenants alike' },
  listSessions: { why: 'names nothing: see the test of lists' },
  flowStatus: {},
  flowOutcome: {},
  flowLive: {},
  flowRecord: {},
  forkFlow: { body: { id: 'mine' } },
  deleteFlow: {},
  readFile: {},
  listForks: {},
  readLineage: {},
  flowEvents: {},
  flowForks: {},
  flowLineage: {},
  uiSend: { why: 'creates a conversation of the caller: see the test of sends' },
  uiResume: {},
  uiMessages: {},
  uiCancel: { body: {} },
  agUiRun: { why: 'creates a conversation of the caller: see the test of sends' },
  stats: { isForOperators: true },
  metrics: { isForOperators: true },
  exportStore: { isForOperators: true },
  importStore: { isForOperators: true, body: {} },
  examineStore: { isForOperators: true },
  repairStore: { isForOperators: true, body: {} },
  compareStore: { isForOperators: true, body: {} },
  unquarantine: { isForOperators: true, body: { id: 'c1' } },
  checkSchema: { isForOperators: true },
  migrateStore: { isForOperators: true, body: {} },
  collectGarbage: { isForOperators: true, body: {} },
  listSubscribers: { isForOperators: true },
  removeSubscriber: { isForOperators: true, body: { name: 'x' } },
  listFailedDeliveries: { isForOperators: true },
  retryDeliveries: { isForOperators: true, body: { ids: [1] } },
  discardDeliveries: { isForOperators: true, body: { ids: [1] } },
  listJobs: { isForOperators: true },
  getJob: { isForOperators: true },
  startJob: { isForOperators: true, body: { action: 'cancel' } },
  countJob: { isForOperators: true, body: { action: 'cancel' } },
  stopJob: { isForOperators: true, body: {} },
  listNodes: { isForOperators: true },
  drainNode: { isForOperators: true, body: { node: 'x' } },
  undrainNode: { isForOperators: true, body: { node: 'x' } },
  listWork: { isForOperators: true },
  listPauses: { isForOperators: true },
  pause: { isForOperators: true, body: { agent: 'x' } },
  resume: { isForOperators: true, body: { agent: 'x' } },
  listSteering: { isForOperators: true },
}

/** Everything of an answer but when it was given. */
export async function ask(
  port: number,
  token: string,
  route: Route,
  ids: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<string> {
  const isFlow = route.path.startsWith('/flows/')
  const named: Record<string, string> = {
    ...ids,
    flow: 'greeting',
    agent: 'helper',
    id: (isFlow ? ids['session'] : ids['conversation'])!,
  }
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(named[name]!))
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  return new Promise((resolve) => {
    const asking = httpRequest({ host: '127.0.0.1', port, path, method: route.method, headers }, (answer) => {
      const head = answer.rawHeaders.filter((_, index) => !/^date$/i.test(answer.rawHeaders[index - (index % 2)]!))
      let text = `HTTP ${answer.statusCode}\n${head.join('\n')}\n`
      answer.on('data', (chunk) => {
        text += String(chunk)
        // A stream would never end.
        if (/"(snapshot|suspend)"/.test(text) && text.endsWith('\n\n')) asking.destroy()
      })
      answer.on('error', () => {})
      answer.on('close', () => resolve(text))
    })
    asking.on('error', () => {})
    asking.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
