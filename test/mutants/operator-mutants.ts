import type { Case, Mutant } from './mutant.ts'

const operators = (test: string): Case => ({ file: 'test/server/upkeep.test.ts', test })

/** One guard of the operators' routes each: where, what it says, what is left without it, and the test that notices. */
const removed: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    "a tenant's user is an operator",
    'src/server/dispatch.ts',
    'if (isClaimed && !isOperator) throw new OperatorOnlyError()',
    '',
    operators('not a user of a tenant, and nothing of a body is waited for'),
  ],
  [
    'text makes an operator',
    'src/server/dispatch.ts',
    'return (await ask()) === true',
    'return Boolean(await ask())',
    operators('not a caller for whom isOperator returns text, and nothing of a body is waited for'),
  ],
  [
    'a throw makes an operator',
    'src/server/dispatch.ts',
    '    return false\n',
    '    return true\n',
    operators('not a caller for whom isOperator throws, and nothing of a body is waited for'),
  ],
  [
    'the rate limit is not asked about operators',
    'src/server/dispatch.ts',
    'if (verdict && !verdict.allowed)',
    'if (false as boolean && verdict && !verdict.allowed)',
    operators('hosts, origins, unknown queries and the rate limit hold for operators as for everybody'),
  ],
  [
    'what is for operators is there without any',
    'src/server/create-handler.ts',
    '!isForOperators || settings.upkeep',
    'isForOperators !== null',
    operators('the document describes what is there, and only that'),
  ],
  [
    'the secret to act with looks after the store',
    'src/server/node/local-token.ts',
    'isSameSecret(given, this.#operatorToken)',
    'isSameSecret(given, this.#token)',
    operators('the two secrets of a token file open one thing each'),
  ],
  [
    'the secret of operators acts',
    'src/server/node/local-token.ts',
    'return given !== null && isSameSecret(given, this.#token)',
    "return given !== null && (isSameSecret(given, this.#token) || isSameSecret(given, this.#operatorToken ?? ''))",
    operators('the two secrets of a token file open one thing each'),
  ],
  [
    'authenticate may know the secret of operators',
    'src/server/serve.ts',
    'return locals.isOfOperator(given) ? null : ',
    'return ',
    operators('and no more than that, however much authenticate and isOperator let in'),
  ],
  [
    'isOperator may know the secret to act with',
    'src/server/serve.ts',
    '!locals.isOfUser(given) && ',
    '',
    operators('and no more than that, however much authenticate and isOperator let in'),
  ],
  [
    'upkeep may be open to no caller',
    'src/server/server-problems.ts',
    'if (!upkeep || upkeep.isOperator || upkeep.operatorToken !== undefined) return []',
    'if (upkeep !== null) return []',
    operators('upkeep without a way to be an operator is a mistake, as is a misspelt option of it'),
  ],
  [
    'any content type is an export',
    'src/server/dispatch.ts',
    "  if (route.takesLines) checkMediaType(request, 'application/x-ndjson')\n",
    '',
    operators('what is sent must be declared as lines, and what is asked must make sense'),
  ],
  [
    'a body may take for ever',
    'src/server/guard/read-body.ts',
    'Promise.race([reader.read().catch(throwAborted), late])',
    'Promise.race([reader.read()])',
    operators('is cut off where it is JSON'),
  ],
  [
    'a client that went lets the work go on',
    'src/server/upkeep/stream-lines.ts',
    '    this.#leaving.abort(reason)\n',
    '',
    operators('a client that goes away stops the work, and so does the end of the server'),
  ],
  [
    'a client that does not read is read ahead for',
    'src/server/upkeep/stream-lines.ts',
    'while (!this.#isWanted) {',
    'while (false as boolean) {',
    operators('a client that does not read is not read ahead for'),
  ],
  [
    'a HEAD begins an export',
    'src/server/upkeep/stream-lines.ts',
    "if (request.method === 'HEAD')",
    'if (false as boolean)',
    operators('a HEAD begins nothing'),
  ],
  [
    'work is not counted',
    'src/server/upkeep/stream-lines.ts',
    'if (this.#underWay.size >= this.#limit)',
    'if (false as boolean)',
    operators('there is only so much of it at once'),
  ],
  [
    'closing does not wait for a migration',
    'src/server/routes/store.ts',
    'json(await call.server.maintenanceJobs.run(() => migrateStore(upkeepIn(call).store)))',
    'json(await migrateStore(upkeepIn(call).store))',
    operators('the end of the server waits for a migration, whose client may be gone'),
  ],
  [
    'a server is closed while work uses its store',
    'src/server/serve.ts',
    '    await handler.settled()\n',
    '',
    operators('a client that goes away stops the work, and so does the end of the server'),
  ],
]

export const operatorMutants: readonly Mutant[] = removed.map(([name, file, find, replace, killedBy]) => ({
  name: `server: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
