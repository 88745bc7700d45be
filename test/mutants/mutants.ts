import { answerMutants } from './answer-mutants.ts'
import { baseMutants } from './base-mutants.ts'
import { bytesMutants } from './bytes-mutants.ts'
import { cacheMutants } from './cache-mutants.ts'
import { callsMutants } from './calls-mutants.ts'
import { childMutants } from './child-mutants.ts'
import { cliMutants } from './cli-mutants.ts'
import { clockMutants } from './clock-mutants.ts'
import { contractMutants } from './contract-mutants.ts'
import { coreMutants } from './core-mutants.ts'
import { disclosureMutants } from './disclosure-mutants.ts'
import { doorMutants } from './door-mutants.ts'
import { hookMutants } from './hook-mutants.ts'
import { keptMutants } from './kept-mutants.ts'
import { lastingMutants } from './lasting-mutants.ts'
import { leaseMutants } from './lease-mutants.ts'
import type { Mutant } from './mutant.ts'
import { noteMutants } from './note-mutants.ts'
import { operatorMutants } from './operator-mutants.ts'
import { poisonMutants } from './poison-mutants.ts'
import { postgresMutants } from './postgres-mutants.ts'
import { readerMutants } from './reader-mutants.ts'
import { recordMutants } from './record-mutants.ts'
import { restoreMutants } from './restore-mutants.ts'
import { schemaMutants } from './schema-mutants.ts'
import { seamMutants } from './seam-mutants.ts'
import { serverMutants } from './server-mutants.ts'
import { sessionMutants } from './session-mutants.ts'
import { sqliteMutants } from './sqlite-mutants.ts'
import { stateMutants } from './state-mutants.ts'
import { trustMutants } from './trust-mutants.ts'
import { upkeepMutants } from './upkeep-mutants.ts'
import { watchMutants } from './watch-mutants.ts'
import { withheldMutants } from './withheld-mutants.ts'

export const mutants: readonly Mutant[] = [
  ...seamMutants,
  ...schemaMutants,
  ...sqliteMutants,
  ...postgresMutants,
  ...operatorMutants,
  ...serverMutants,
  ...upkeepMutants,
  ...trustMutants,
  ...hookMutants,
  ...stateMutants,
  ...keptMutants,
  ...coreMutants,
  ...childMutants,
  ...contractMutants,
  ...recordMutants,
  ...cliMutants,
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
  ...baseMutants,
  ...lastingMutants,
  ...poisonMutants,
  ...noteMutants,
  ...sessionMutants,
  ...restoreMutants,
]
