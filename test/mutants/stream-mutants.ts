import type { Case, Mutant } from './mutant.ts'

const story = (test: string): Case => ({
  file: 'test/stories/models-broken-off.test.ts',
  test,
})
const breaks = (test: string): Case => ({
  file: 'src/model/stream-model-breaks.test.ts',
  test,
})
const finish = (test: string): Case => ({ file: 'test/stories/models-finish-reason.test.ts', test })
const page = (test: string): Case => ({ file: 'test/server/ui-withdrawn.test.ts', test })
const limits = (test: string): Case => ({ file: 'src/model/stream-attempt.test.ts', test })

const tried = 'is tried again: its text is withdrawn and not in the log, its tools do not run, and its usage counts'

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'the text of an attempt that broke off stays on screen',
    'src/engine/turn/model-task.ts',
    "if (!this.#isHeldBack) live.emit({ type: 'message_discarded', turnId: this.#turnId, messageId }, seq)",
    '',
    story(tried),
  ],
  [
    'the next attempt continues the message of the one before',
    'src/engine/turn/model-task.ts',
    'this.#messageId = uuidV7(node.clock.now())\n    this.#attempt += 1',
    'this.#attempt += 1',
    story(tried),
  ],
  [
    'usage of an attempt that broke off is lost',
    'src/log/settle.ts',
    'return outcome.discarded ? [...discardedEvents(outcome), ...events] : events',
    'return events',
    story(tried),
  ],
  [
    'usage of an attempt that broke off is lost when the turn is cancelled',
    'src/log/settle.ts',
    'const events: NewEvent[] = partial ? discardedEvents(partial) : []',
    'const events: NewEvent[] = []',
    story('is withdrawn at once, and a cancel during the wait for the next attempt ends the turn with its usage'),
  ],
  [
    'usage of an attempt that broke off does not count',
    'src/log/state.ts',
    'if (discarded) addUsage(total, discarded.usage)',
    '',
    story('counts its usage against maxTokens of the turn'),
  ],
  [
    'a stream that breaks off is tried for ever',
    'src/model/fault.ts',
    'attempt >= policy.maxAttempts',
    'attempt > policy.maxAttempts + 5',
    story('for the last time fails the turn, and keeps what its last attempt said'),
  ],
  [
    'a stream in which the host has run a call is tried again',
    'src/model/stream-model.ts',
    'const isFinal = wasRunByHost(draft)',
    'const isFinal = false',
    breaks('a message in which the host has run a call is not tried again: the call could run twice'),
  ],
  [
    'a finish that a provider made up is taken for an end',
    'src/model/stream-attempt.ts',
    "reason === 'interrupted' || isUnknown",
    "reason === 'interrupted'",
    breaks('a finish without a reason and without usage is a connection that was closed'),
  ],
  [
    'the limit between chunks begins after that of the first chunk',
    'src/model/stream-attempt.ts',
    'if (!isShorter) return\n    this.#callOff()\n    this.#wait()',
    '',
    limits('a stream that stalls after text is given up and tried again'),
  ],
  [
    'the start that the SDK makes counts as a first chunk',
    'src/model/stream-attempt.ts',
    "isFromModel: type !== 'stream-start'",
    'isFromModel: true',
    limits('a stream without a first chunk; its start is made by the SDK is given up and tried again'),
  ],
  [
    'a provider that shows that it is alive is given up',
    'src/model/stream-attempt.ts',
    'if (taken.isFromModel) limits.heard()',
    'if (taken.chunk) limits.heard()',
    limits('a provider that only shows that it is alive is waited for'),
  ],
  [
    'a stream that breaks in the middle is not tried again',
    'src/model/fault.ts',
    "const isRetryable = fault.code !== 'model_rejected' && fault.code !== 'model_unauthorized'",
    "const isRetryable = !hasBegun && fault.code !== 'model_rejected' && fault.code !== 'model_unauthorized'",
    {
      file: 'test/faults/provider.test.ts',
      test: 'a provider that stalls, resets, truncates and fails anywhere in its streams is tried again, or told truthfully (sqlite)',
    },
  ],
  [
    'an answer that was cut off looks complete in its outcome',
    'src/engine/live/turn-outcome.ts',
    'finishReason: last?.finishReason ?? null',
    "finishReason: last ? 'stop' : null",
    finish('says so in outcome, view and history (length)'),
  ],
  [
    'an answer that was cut off looks complete in a view',
    'src/view/view-of.ts',
    'const written = { messageId, seq, at, status, finishReason, parts',
    "const written = { messageId, seq, at, status, finishReason: finishReason && 'stop', parts",
    finish('says so in outcome, view and history (length)'),
  ],
  [
    'an answer that was cut off looks complete to a parent agent',
    'src/engine/child/child-calls.ts',
    'return textWithEnd(text, last?.finishReason ?? null)',
    'return text',
    finish('says so to the model of a parent agent'),
  ],
  [
    'an answer that was cut off looks complete in a snapshot',
    'src/snapshot/take-snapshot.ts',
    '...(early === null ? {} : { finishReason: early }),',
    '',
    finish('says so in a snapshot, and in the conversation that is restored from it'),
  ],
  [
    'an answer that was cut off looks complete when it is restored',
    'src/log/restored-events.ts',
    "message.finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop')",
    "(calls.length > 0 ? 'tool-calls' : 'stop')",
    finish('says so in a snapshot, and in the conversation that is restored from it'),
  ],
  [
    'an answer that was cut off looks complete to a page',
    'src/server/ui/chunks-between.ts',
    '...(early === null ? {} : { finishReason: early })',
    '',
    page('an answer that was cut off at its length says so in the metadata of its message, also after a reload'),
  ],
  [
    'an object that was cut off is said not to fit',
    'src/engine/turn/finish-message.ts',
    "cutShort === null ? 'invalid_object' : 'object_cut_off'",
    "'invalid_object'",
    finish('is asked for once more, shorter, where it was to be an object; then the turn fails and says why'),
  ],
  [
    'a page is not told what kind of failure it was',
    'src/server/ui/chunks-between.ts',
    "const what = failures.get(reason ?? '')",
    'const what: string | undefined = undefined',
    page(
      'a model that is overloaded, rate limited or too slow is told by that, and never in the words of the provider',
    ),
  ],
  [
    'a warning of a provider is logged for every call',
    'src/engine/turn/audit.ts',
    'known.add(key)',
    '',
    finish('is logged once for each model, and is in the audit of every call'),
  ],
  [
    'a warning of a provider is logged only where calls are audited',
    'src/engine/turn/audit.ts',
    'return { onAttempt: tell, written',
    'return { onAttempt: () => {}, written',
    finish('is logged where nothing is audited, without the secrets in it'),
  ],
  [
    'a warning of a provider is not in the audit',
    'src/engine/turn/audit.ts',
    '...(warnings.length > 0 ? { warnings } : {}),',
    '',
    finish('is logged once for each model, and is in the audit of every call'),
  ],
  [
    'a draft of an earlier attempt stays beside that of a later one',
    'src/view/live-events.ts',
    '!others.includes(other) || attemptOf(other) === attemptOf(draft)',
    'true',
    {
      file: 'src/view/live-events.test.ts',
      test: 'a later attempt at a message replaces the draft of the one before it, and an earlier one comes too late',
    },
  ],
]

/** Bugs around streams that break off, stall or end early. */
export const streamMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `streams: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
