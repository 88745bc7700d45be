import { findCall, type TurnState } from '../log/state.ts'
import { systemScope } from '../scope/create-scope.ts'
import type { Scope } from '../scope/register.ts'
import type { ScopeSource } from '../turn/turn-context.ts'

export type RestoreScope = (tenant: string, who: string) => Scope | Promise<Scope>

const most = 10_000

/** Scopes of those who acted in this process, while their turn may still need them. After a crash they are restored from the stored id. */
export class Scopes {
  readonly #remembered = new Map<string, Scope>()
  readonly #restore: RestoreScope | undefined

  constructor(restore: RestoreScope | undefined) {
    this.#restore = restore
  }

  /** Only for whoever the log says opened the turn: others may steer it, or try its key. */
  rememberTurn(tenant: string, id: string, turnId: string, who: string, scope: Scope): void {
    this.#remember(JSON.stringify([tenant, id, turnId, who]), scope)
  }

  /** Must be called before the resolution is committed: the call may run at once. */
  rememberAnswer(tenant: string, id: string, callId: string, round: number, who: string, scope: Scope): void {
    this.#remember(JSON.stringify([tenant, id, callId, round, who]), scope)
  }

  rememberSession(tenant: string, id: string, who: string, scope: Scope): void {
    this.#remember(JSON.stringify([tenant, id, who]), scope)
  }

  /** Of whoever started a session, for what its flow sends to agents. */
  ofSession(tenant: string, id: string, who: string): Promise<Scope> {
    return this.#recall(JSON.stringify([tenant, id, who]), tenant, who)
  }

  forConversation(tenant: string, id: string): ScopeSource {
    const ofTurn = (turn: TurnState): Promise<Scope> => {
      const who = turn.items.find((item) => item.type === 'user')?.who ?? 'system'
      return this.#recall(JSON.stringify([tenant, id, turn.turnId, who]), tenant, who)
    }
    return {
      ofTurn,
      ofCall: (turn, callId) => {
        const call = findCall({ lastSeq: 0, title: null, seed: null, turns: [turn] }, callId)?.call
        const granted = call?.rounds.findLast((round) => round.resolution?.status === 'resolved')
        if (!granted?.resolution) return ofTurn(turn)
        const { who } = granted.resolution
        return this.#recall(JSON.stringify([tenant, id, callId, granted.round, who]), tenant, who)
      },
    }
  }

  #remember(key: string, scope: Scope): void {
    this.#remembered.delete(key)
    this.#remembered.set(key, scope)
    if (this.#remembered.size > most) this.#remembered.delete(this.#remembered.keys().next().value!)
  }

  async #recall(key: string, tenant: string, who: string): Promise<Scope> {
    const remembered = this.#remembered.get(key)
    if (remembered !== undefined) return remembered
    return this.#restore ? await this.#restore(tenant, who) : (systemScope(tenant) as Scope)
  }
}
