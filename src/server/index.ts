export { createHandler, type Handler, type ServedRuntime } from './create-handler.ts'
export { bearerToken, isSameSecret, operatorToken, requireSecret } from './guard/secret.ts'
export { type LocalAccess, readLocalAccess } from './node/local-token.ts'
export { type ListenerOptions, type NodeListener, toNodeListener } from './node/to-node-listener.ts'
export { type ServeOptions, type Server, serve } from './serve.ts'
export type {
  Authenticate,
  IsOperator,
  Limits,
  RateLimit,
  RateVerdict,
  ServerOptions,
  UpkeepOptions,
} from './server-options.ts'
