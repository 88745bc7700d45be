import type { JsonObject } from '../../base/json.ts'
import { callPhase, effectiveArgs } from '../../log/call-phase.ts'
import type { CallState, Round } from '../../log/state.ts'
import type { CallStage, UiApproval, UiCall, UiQuestion } from './ui-turn.ts'

export function uiCallOf(call: CallState, providerMetadata?: JsonObject): UiCall {
  return {
    kind: 'call',
    key: call.callId,
    name: call.name,
    input: effectiveArgs(call),
    stage: stageOf(call),
    approval: approvalOf(call),
    isForPage: isForPage(call),
    isProviderRun: false,
    ...(providerMetadata ? { providerMetadata } : {}),
  }
}

/** Names a round, so that a second click never lands in the next one. */
export function roundId(callId: string, round: number): string {
  return `${callId}:${round}`
}

/** What a person was asked about a call, in the order it was asked. */
export function questionsOf(calls: readonly CallState[]): UiQuestion[] {
  const asked = calls.flatMap((call) => call.rounds.map((round) => ({ call, round })))
  return asked
    .filter(({ round }) => ['approval', 'elicitation', 'recovery'].includes(round.kind))
    .sort((one, other) => one.round.seq - other.round.seq)
    .map(({ call, round }) => questionOf(call, round))
}

function questionOf({ callId, name }: CallState, round: Round): UiQuestion {
  const { round: n, kind, prompt, schema, at, expiresInMs, resolution } = round
  const expiresAt = expiresInMs === null ? null : at + expiresInMs
  const status = resolution?.status ?? 'open'
  return {
    kind: 'question',
    key: roundId(callId, n),
    data: { callId, round: n, kind, tool: name, prompt, schema, expiresAt, status },
  }
}

function stageOf(call: CallState): CallStage {
  const phase = callPhase(call)
  switch (phase.type) {
    case 'ended':
      if (phase.end.ok) return { type: 'output', output: phase.end.result }
      return isDenied(call) ? { type: 'denied' } : { type: 'error', errorText: phase.end.error }
    case 'pending':
      return { type: phase.round.kind === 'approval' ? 'asked' : 'awaited' }
    case 'unasked':
      return { type: isForPage(call) ? 'held' : 'ready' }
    case 'ready':
    case 'started':
    case 'recovered':
      return { type: 'ready' }
  }
}

function isForPage({ executor }: CallState): boolean {
  return executor === 'client' || executor === 'human'
}

function isDenied(call: CallState): boolean {
  return !call.result && approvalOf(call)?.approved === false
}

function approvalOf({ callId, rounds }: CallState): UiApproval | null {
  const asked = rounds.findLast(({ kind }) => kind === 'approval')
  if (!asked) return null
  const { resolution } = asked
  const id = roundId(callId, asked.round)
  if (resolution?.status === 'resolved') return { id, approved: resolution.value !== false }
  if (resolution?.status !== 'denied') return { id, approved: null }
  const reason = (resolution.value as { reason?: unknown } | null)?.reason
  return { id, approved: false, ...(typeof reason === 'string' ? { reason } : {}) }
}
