import { agUiMutants } from './ag-ui-mutants.ts'
import { answerMutants } from './answer-mutants.ts'
import { authorizeMutants } from './authorize-mutants.ts'
import { baseMutants } from './base-mutants.ts'
import { behalfMutants } from './behalf-mutants.ts'
import { bulkMutants } from './bulk-mutants.ts'
import { bytesMutants } from './bytes-mutants.ts'
import { cacheMutants } from './cache-mutants.ts'
import { callsMutants } from './calls-mutants.ts'
import { chatMutants } from './chat-mutants.ts'
import { childMutants } from './child-mutants.ts'
import { claimMutants } from './claim-mutants.ts'
import { cliMutants } from './cli-mutants.ts'
import { clockMutants } from './clock-mutants.ts'
import { contractMutants } from './contract-mutants.ts'
import { coreMutants } from './core-mutants.ts'
import { dataMutants } from './data-mutants.ts'
import { disclosureMutants } from './disclosure-mutants.ts'
import { doorMutants } from './door-mutants.ts'
import { fleetMutants } from './fleet-mutants.ts'
import { frameworkMutants } from './framework-mutants.ts'
import { hookMutants } from './hook-mutants.ts'
import { inboxMutants } from './inbox-mutants.ts'
import { inspectorMutants } from './inspector-mutants.ts'
import { keptMutants } from './kept-mutants.ts'
import { langgraphMutants } from './langgraph-mutants.ts'
import { lastingMutants } from './lasting-mutants.ts'
import { leaseMutants } from './lease-mutants.ts'
import { limitsMutants } from './limits-mutants.ts'
import { liveMutants } from './live-mutants.ts'
import { mcpMutants } from './mcp-mutants.ts'
import type { Mutant } from './mutant.ts'
import { noteMutants } from './note-mutants.ts'
import { openaiAgentsMutants } from './openai-agents-mutants.ts'
import { operatorMutants } from './operator-mutants.ts'
import { outboxMutants } from './outbox-mutants.ts'
import { ownerMutants } from './owner-mutants.ts'
import { poisonMutants } from './poison-mutants.ts'
import { postgresMutants } from './postgres-mutants.ts'
import { preflightMutants } from './preflight-mutants.ts'
import { reactMutants } from './react-mutants.ts'
import { readerMutants } from './reader-mutants.ts'
import { recordMutants } from './record-mutants.ts'
import { reopenedMutants } from './reopened-mutants.ts'
import { restoreMutants } from './restore-mutants.ts'
import { schemaMutants } from './schema-mutants.ts'
import { seamMutants } from './seam-mutants.ts'
import { serverMutants } from './server-mutants.ts'
import { sessionMutants } from './session-mutants.ts'
import { shownMutants } from './shown-mutants.ts'
import { signedMutants } from './signed-mutants.ts'
import { sqliteMutants } from './sqlite-mutants.ts'
import { stateMutants } from './state-mutants.ts'
import { streamMutants } from './stream-mutants.ts'
import { studioMutants } from './studio-mutants.ts'
import { supersededMutants } from './superseded-mutants.ts'
import { telemetryMutants } from './telemetry-mutants.ts'
import { tenantMutants } from './tenant-mutants.ts'
import { trustMutants } from './trust-mutants.ts'
import { upkeepMutants } from './upkeep-mutants.ts'
import { watchMutants } from './watch-mutants.ts'
import { withheldMutants } from './withheld-mutants.ts'

export const mutants: readonly Mutant[] = [
  ...seamMutants,
  ...agUiMutants,
  ...langgraphMutants,
  ...openaiAgentsMutants,
  ...schemaMutants,
  ...sqliteMutants,
  ...postgresMutants,
  ...operatorMutants,
  ...preflightMutants,
  ...bulkMutants,
  ...serverMutants,
  ...upkeepMutants,
  ...supersededMutants,
  ...trustMutants,
  ...hookMutants,
  ...inboxMutants,
  ...authorizeMutants,
  ...ownerMutants,
  ...reopenedMutants,
  ...behalfMutants,
  ...stateMutants,
  ...streamMutants,
  ...telemetryMutants,
  ...keptMutants,
  ...coreMutants,
  ...childMutants,
  ...contractMutants,
  ...recordMutants,
  ...cliMutants,
  ...claimMutants,
  ...clockMutants,
  ...cacheMutants,
  ...doorMutants,
  ...answerMutants,
  ...bytesMutants,
  ...readerMutants,
  ...callsMutants,
  ...watchMutants,
  ...withheldMutants,
  ...disclosureMutants,
  ...leaseMutants,
  ...liveMutants,
  ...baseMutants,
  ...lastingMutants,
  ...limitsMutants,
  ...poisonMutants,
  ...mcpMutants,
  ...noteMutants,
  ...sessionMutants,
  ...restoreMutants,
  ...signedMutants,
  ...dataMutants,
  ...chatMutants,
  ...fleetMutants,
  ...outboxMutants,
  ...frameworkMutants,
  ...tenantMutants,
  ...shownMutants,
  ...studioMutants,
  ...inspectorMutants,
  ...reactMutants,
]
