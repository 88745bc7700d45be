import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { AgentAttributes } from '../../../src/define/define-agent.ts'
import type { LogEvent } from '../../../src/log/events.ts'
import type { Conversation } from '../../../src/runtime/conversation.ts'

/** A conversation that is told to its end, whatever process dies on the way. Everything in it can be done again. */
export type Scenario = {
  /** Also the name of its agent, and the end of its conversation's id. */
  readonly name: string
  /** Each is sent when the turn of the one before has ended. What the model says to it is in `script.ts`. */
  readonly messages: readonly string[]
  /** It is renamed after each message, to this with the number of the message. */
  readonly title?: string
  /** Messages whose turns are tried again when they have ended. With `forced`, tools ran that must not run twice: first it is tried without force, which must be refused. */
  readonly triedAgain?: Readonly<Record<string, 'unforced' | 'forced'>>
  /** Messages that are edited when all have been sent: each takes the place of the turn of that message, and of all after it. People force what is refused. */
  readonly edits?: Readonly<Record<string, string>>
  /** The same, of people who leave it at a refusal. */
  readonly unforcedEdits?: Readonly<Record<string, string>>
  readonly agent?: (
    host: Host,
  ) => Pick<AgentAttributes, 'hooks' | 'output' | 'retry' | 'title' | 'context' | 'audit' | 'state' | 'initialState'>
  /** It ends every process that takes it up: it must be quarantined, and nothing else. Its message is sent, and not waited for. */
  readonly isPoison?: true
  /** Its agent has the tool `delegate`, which starts a child agent with the same tools. */
  readonly hasHelper?: true
  /** The message whose turn is cancelled while its tool `slow` runs. Default: 'work until cancelled'. */
  readonly cancels?: string
  /** Its call is approved while no process runs, and only then the scenario begins. */
  readonly isApprovedBeforehand?: true
  /** What may be read in the end. The first is what is read when nothing went wrong; see `transcript.ts`. */
  readonly transcripts: readonly (readonly string[])[]
}

/** The process a scenario is told in, as its tools, its model and the people at it see it. */
export type Host = {
  /** Of the process. */
  readonly name: string
  /** False: nothing that this process does may be seen any more. */
  isAlive(): boolean
  idOf(scenario: Scenario): string
  chat(scenario: Scenario): Conversation
  /** Something outside has happened for good. */
  effect(effect: Effect): void
  /** A client was told something, which must stay true. */
  tell(told: Told): void
  /** A model was asked. */
  asked(scenario: Scenario, prompt: LanguageModelV4Prompt): void
  pause(): Promise<void>
  /** The store has failed for a while, or still does: then people come back later. */
  isStoreAway(): boolean
  /** Ends this process. */
  die(): void
  /** Whether every other scenario has come to its end. */
  haveOthersEnded(scenario: Scenario): Promise<boolean>
}

export type Effect = { readonly id: string; readonly tool: string; readonly callId: string }

export type Told =
  /** People are about to send the message with this key by force. */
  | { readonly type: 'forced'; readonly id: string; readonly key: string }
  | { readonly type: 'sent'; readonly id: string; readonly key: string; readonly turnId: string }
  | { readonly type: 'answered'; readonly id: string; readonly callId: string; readonly round: number }
  | { readonly type: 'ended'; readonly id: string; readonly turnId: string; readonly status: string }
  | { readonly type: 'noted'; readonly id: string; readonly seq: number }
  | {
      readonly type: 'moved'
      readonly id: string
      readonly callId: string
      readonly round: number
      readonly expiresAt: number | null
    }
  | { readonly type: 'seen'; readonly id: string; readonly event: LogEvent }
