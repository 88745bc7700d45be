import type { Signer } from '../base/signer.ts'

/** Signs what is handed to a caller and comes back with its next request. For servers. Other processes need the same `secret`. */
export type StateSigner = {
  sign(text: string): string
  isSigned(text: string, signature: unknown): boolean
}

export function stateSigner(signer: Pick<Signer, 'sign' | 'isSigned'>): StateSigner {
  return {
    sign: (text) => signer.sign('state', text),
    isSigned: (text, signature) => signer.isSigned('state', text, signature),
  }
}
