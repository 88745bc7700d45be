import type { Case, Mutant } from './mutant.ts'

const signIn = (test: string): Case => ({ file: 'src/server/studio/studio-sign-in.test.ts', test })
const files = (test: string): Case => ({ file: 'src/server/studio/studio-files.test.ts', test })
const answer = (test: string): Case => ({ file: 'src/server/studio/answer-studio.test.ts', test })
const secrets = (test: string): Case => ({ file: 'src/server/node/local-token.test.ts', test })

/** One rule each of how the studio is served and who signs in to it. */
const rules: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'a code works twice',
    'studio/studio-sign-in.ts',
    'code.isUsed = true',
    '',
    signIn('a second use is refused, and says so'),
  ],
  [
    'a code works for ever',
    'studio/studio-sign-in.ts',
    'this.#now() >= code.expiresAt',
    'false',
    signIn('a code works for ten minutes'),
  ],
  [
    'codes may be guessed without end',
    'studio/studio-sign-in.ts',
    'this.#refusedAt.push(this.#now())',
    '',
    signIn('after ten refusals in a minute no code is looked at until the minute is over'),
  ],
  [
    'a session of the user is one of the operator',
    'studio/studio-sign-in.ts',
    "this.#sessions.get(digest(given)) === 'operator'",
    'this.#sessions.has(digest(given))',
    signIn('a code is exchanged for the secrets of a user and of an operator'),
  ],
  [
    'codes are kept for ever',
    'studio/studio-sign-in.ts',
    'this.#codes.length >= mostCodes || ',
    '',
    signIn('neither codes nor sessions grow without bounds: the oldest go'),
  ],
  [
    'an ended session goes on',
    'studio/studio-sign-in.ts',
    'this.#sessions.delete(digest(secret))',
    'digest(secret)',
    signIn('an ended session is forgotten'),
  ],
  [
    'a path leads out of the assets',
    'studio/studio-files.ts',
    '([\\w-][\\w.-]*)$/',
    '(.+)$/',
    files('at "/assets/../secret.js" does not exist'),
  ],
  [
    'the page may be shown in a frame',
    'studio/studio-files.ts',
    '  "frame-ancestors \'none\'",\n',
    '',
    files('runs only what this server sends, and is shown in no frame'),
  ],
  [
    'an encoding that the browser refuses is sent',
    'studio/studio-files.ts',
    '/^\\s*q=0(\\.0*)?\\s*$/.test(weight)',
    'false',
    files('for a browser that accepts "br;q=0, gzip;q=0.5"'),
  ],
  [
    'other pages exchange codes',
    'studio/answer-studio.ts',
    'checkOrigin(request, settings.allowedOrigins)',
    '',
    answer('a page of another origin exchanges nothing'),
  ],
  [
    'everyone gets a code',
    'studio/answer-studio.ts',
    'if (!door.mayIssue(request)) throw new UnauthenticatedError()',
    '',
    answer('a new code is only for those who may have one'),
  ],
  [
    'an operator without a user is signed in',
    'studio/answer-studio.ts',
    'isSignedIn && settings.upkeep !== null',
    'settings.upkeep !== null',
    answer('an operator who is no user is not signed in'),
  ],
  [
    'the secret of a user gets a code for an operator',
    'node/local-token.ts',
    '!this.#token.hasOperators || this.#token.isOfOperator(operatorToken(request))',
    'true',
    secrets('only the holder of the file gets a code: not a page, and not with one secret of the two'),
  ],
  [
    'a page makes codes',
    'node/local-token.ts',
    'isOperator && this.#token.isOfUser(bearerToken(request))',
    'isOperator && this.isOfUser(bearerToken(request))',
    secrets('only the holder of the file gets a code: not a page, and not with one secret of the two'),
  ],
]

export const studioMutants: readonly Mutant[] = rules.map(([name, file, find, replace, killedBy]) => ({
  name: `studio: ${name}`,
  edits: [{ file: `src/server/${file}`, find, replace }],
  killedBy: [killedBy],
}))
