import type { Case, Mutant } from './mutant.ts'

const files = (test: string): Case => ({ file: 'test/server/signed-files.test.ts', test })

/** Bugs in what is signed and handed out. */
export const signedMutants: readonly Mutant[] = [
  {
    name: 'signed: a signature for one purpose is valid for another',
    edits: [
      {
        file: 'src/base/signer.ts',
        find: 'hmac(each, `perdure/${purpose}/v1`)',
        replace: 'hmac(each, `perdure/v1`)',
      },
    ],
    killedBy: [
      {
        file: 'src/base/signer.test.ts',
        test: 'a signature is not valid for another text, purpose or secret',
      },
    ],
  },
  {
    name: 'signed: an address is good for every method',
    edits: [{ file: 'src/server/file-response.ts', find: "|| request.method !== 'GET' ", replace: '' }],
    killedBy: [
      files('an address is good for half an hour to an hour, for its own file, conversation and tenant alone'),
    ],
  },
  {
    name: 'signed: the secret that is being replaced is no longer accepted',
    edits: [
      {
        file: 'src/base/signer.ts',
        find: 'return matches.includes(true)',
        replace: 'return matches[0] === true',
      },
    ],
    killedBy: [
      {
        file: 'src/base/signer.test.ts',
        test: 'of several secrets the first signs and all are accepted, so a secret can be replaced',
      },
    ],
  },
  {
    name: 'signed: a runtime starts with a secret that can be guessed',
    edits: [
      {
        file: 'src/base/signer.ts',
        find: 'Buffer.byteLength(secret.trim()) >= minSecretBytes',
        replace: 'Buffer.byteLength(secret) > 0',
      },
    ],
    killedBy: [
      {
        file: 'src/runtime/runtime-options.test.ts',
        test: 'everything that is wrong is told, in the order of what a runtime has',
      },
    ],
  },
  {
    name: 'signed: an address of a file never expires',
    edits: [
      { file: 'src/runtime/signed-files.ts', find: 'Number(expires) > window() &&', replace: 'Number(expires) > 0 &&' },
    ],
    killedBy: [
      files('an address is good for half an hour to an hour, for its own file, conversation and tenant alone'),
    ],
  },
  {
    name: 'signed: the address of a file opens the file in other conversations',
    edits: [
      {
        file: 'src/runtime/signed-files.ts',
        find: 'return JSON.stringify([tenant, id, blob, expires])',
        replace: 'return JSON.stringify([tenant, id && blob, expires])',
      },
    ],
    killedBy: [
      files('an address is good for half an hour to an hour, for its own file, conversation and tenant alone'),
    ],
  },
  {
    name: 'signed: a cross-site page reads with the identity of the browser when its address has expired',
    edits: [
      {
        file: 'src/server/create-handler.ts',
        find: '  if (studio) return studio\n  checkOrigin',
        replace: "  if (studio) return studio\n  if (!request.url.includes('signed=')) checkOrigin",
      },
    ],
    killedBy: [
      files('an address is good for half an hour to an hour, for its own file, conversation and tenant alone'),
    ],
  },
  {
    name: 'signed: what is loaded by a signed address may run in its own origin',
    edits: [{ file: 'src/server/file-response.ts', find: '; sandbox; frame', replace: '; frame' }],
    killedBy: [files('a page of another origin loads a file by the address that its message has, without an identity')],
  },
  {
    name: 'signed: the address of a file is recorded in place of the file',
    edits: [
      {
        file: 'src/server/file-response.ts',
        find: '      if (!file) return part\n',
        replace: '      if (!file || part) return part\n',
      },
    ],
    killedBy: [files('a message that is sent again with the address of its file is the same message')],
  },
]
